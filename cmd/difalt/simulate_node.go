package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/internal/federate"
	"github.com/difalt/difalt/internal/options"
	"github.com/difalt/difalt/internal/simulation"
	"github.com/spf13/cobra"
)

// A nodeTask is what simulate asks the process of a node to do.
type nodeTask struct {
	Setting simulation.Setting
	Trial   int
	Method  string
}

// A nodeCurve is what it answers.
type nodeCurve struct {
	Basis string // its hash
	Rows  []simulation.MeasuredRow
}

// newSimulateNodeCommand returns the command that simulate --engine starts for each node.
// It reads a nodeTask from standard input, and ends when that does.
func newSimulateNodeCommand() *cobra.Command {
	o := options.New(options.SimulateNode)
	cmd := &cobra.Command{
		Use: "simulate-node", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Resolve(); err != nil {
				return err
			}
			m, err := newMember(&o.Member)
			if err != nil {
				return err
			}
			var task nodeTask
			if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
				return err
			}
			ctx, cancel := untilEOF(cmd.Context())
			defer cancel()
			transport, err := m.join(ctx, engine.Options{})
			if err != nil {
				return err
			}
			curve, err := task.run(ctx, transport)
			transport.Leave(err)
			if err != nil {
				return federate.Explain(m.cluster, err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(curve)
		},
	}
	cmd.Flags().AddFlagSet(o.Set)
	return cmd
}

func (t *nodeTask) run(ctx context.Context, transport engine.Transport) (*nodeCurve, error) {
	curve := &nodeCurve{}
	var began time.Time
	bases, err := t.Setting.Over(ctx, t.Trial, t.Method, transport, 1, func() { began = time.Now() }, func(r *difalt.Record) error {
		curve.Rows = append(curve.Rows, simulation.MeasuredRow{
			Iteration: r.Iteration, SDMax: r.SDMax, Rounds: int64(transport.Stats().Rounds), Seconds: time.Since(began).Seconds(),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	curve.Basis = bases[0]
	return curve, nil
}
