"""The engine: turns and steps, two queues, one abort signal, tools in a batch. All it does is in the log."""
