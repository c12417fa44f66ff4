"""The report, live: a server that follows stores while experiments run (docs/serve.md). It needs the extra `serve`."""
