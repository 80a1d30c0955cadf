package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/difalt/difalt/engine/grpc"
	"github.com/difalt/difalt/internal/options"
	"github.com/spf13/cobra"
)

func newClusterHealthCommand() *cobra.Command {
	o := options.New(options.ClusterHealth)
	var address string
	var timeout time.Duration
	cmd := newCommand("health --cluster FILE --key FILE", "Ask whether a node is there, with all its neighbours", o.Set, func(cmd *cobra.Command, _ []string) error {
		if err := o.Resolve(); err != nil {
			return err
		}
		m, err := newMember(&o.Member)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		at := cmp.Or(address, m.entry().Address)
		err = grpc.Ready(ctx, m.cluster, m.identity, at)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s: no answer for %v", at, timeout)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: ready\n", m.entry().Name)
		return nil
	})
	cmd.Flags().StringVar(&address, "address", "", "`ADDRESS` to ask (default: that of the node in cluster.json)")
	cmd.Flags().DurationVar(&timeout, "timeout", 4*time.Second, "how long to wait for the answer, `TIME`")
	return cmd
}
