"""Language models: data, modules, tasks and run directories; see each file."""
