// node docker/healthcheck.mjs <port>: exits with 0 while the process on that port of this container is live.
const port = process.argv[2];
const { ok } = await fetch(`http://127.0.0.1:${port}/health/live`, { signal: AbortSignal.timeout(2_500) });
process.exit(ok ? 0 : 1);
