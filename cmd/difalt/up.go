package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/topology"
	"github.com/spf13/cobra"
)

const (
	upHelp = `Train on this machine as the owners of several tables would: one node per file,
all of them in this process. The shared part of the model has the same bits as
that of "difalt node" on as many machines, and the model has the tasks of all
tables, whose names must differ. For one table in several files use "difalt
fit". Each file is checked by the rules that its owner would apply; held-out
rows stay out of the model, since a second training would disclose them.`
	upExamples = `  difalt up --task clinic --target score --drop patient --model m.npz \
      site-*.csv`
)

// newUp returns the command up.
func newUp(std *cli.Streams) *cobra.Command {
	o := jointOptions{trainingOptions: newTrainingOptions()}
	cmd := &cobra.Command{
		Use:     "up --task COLUMN --target COLUMN FILE...",
		Short:   "Train on this machine as the owners of several tables would",
		Long:    upHelp,
		Example: upExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.take(cmd.Flags(), files); err != nil {
				return err
			}
			return runUp(cmd.Context(), std, o)
		},
	}
	flags := cmd.Flags()
	o.addData(flags, "tables, `PATTERN` such as 'site-*.csv' in place of FILE...")
	o.addTrainingFlags(flags)
	cli.Require(cmd, "task", "target")
	return cmd
}

// runUp trains on the tables of several owners in this process. The model has the tasks of all tables.
func runUp(ctx context.Context, std *cli.Streams, o jointOptions) error {
	paths, err := matching(o.files)
	if err != nil {
		return err
	}
	if len(paths) < 2 {
		const format = "up needs a file for each of at least two owners, but got %s alone"
		return cli.Usagef(format, nameOf(paths[0], "input"))
	}
	var tables [][]string
	for _, path := range paths {
		tables = append(tables, []string{path})
	}
	t := &training{trainingOptions: o.trainingOptions, privacy: o.privacy, Streams: std, command: "up"}
	defer t.used.close()
	trainingStages := append(slices.Clip(mixed.Stages), mixed.OwnFits)
	if o.privacy.Epsilon > 0 {
		trainingStages = mixed.PrivateStages
	}
	if err := t.open(); err != nil {
		return err
	}
	stages := append([]string{readingStage}, trainingStages...)
	if err := t.read(ctx, std.Progress(), tables, stages...); err != nil {
		return err
	}
	if err := t.sameSettings(); err != nil {
		return err
	}
	net, err := localNetwork(len(paths))
	if err != nil {
		return err
	}
	return t.train(ctx, stages, func(progress func(mixed.Progress)) (*mixed.Model, *mixed.Report, error) {
		return t.together(ctx, net, progress)
	})
}

// localNetwork returns a network whose nodes are all in this process.
func localNetwork(nodes int) (*consensus.Network, error) {
	graph, err := topology.Parse(defaultGraph, nodes, 0)
	if err != nil {
		return nil, err
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		return nil, err
	}
	return consensus.New(weights, nil)
}

// sameSettings returns an error if nodes would refuse each other, or if two tables have a task of one name.
func (t *training) sameSettings() error {
	first, seen := t.sources[0], map[string]string{}
	for _, s := range t.sources {
		difference := consensus.Difference(t.settings(&s), "in "+s.Name, t.settings(&first), "in "+first.Name)
		if difference != "" {
			return place.In(s.Name, errors.New(difference))
		}
		for _, task := range s.Table.Tasks() {
			if other, twice := seen[task]; twice {
				unique := "task %q is in %s and in %s: in one model its name must be unique"
				return place.In(s.Name, fmt.Errorf(unique, task, other, s.Name))
			}
			seen[task] = s.Name
		}
	}
	return nil
}
