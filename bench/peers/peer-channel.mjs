// A peer is a child process that handles `load` and `run` messages on its IPC channel, one at a time.
export function servePeer({ load, run }) {
  process.on('message', async ({ type, options }) => {
    try {
      const value = type === 'load' ? await load(options) : await run(options);
      process.send({ ok: true, value });
    } catch (error) {
      process.send({ ok: false, error: error?.stack ?? String(error) });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.send({ ok: true, value: 'hello' });
}

/** Returns milliseconds on a clock that all processes of a machine share. */
export const nowMs = () => performance.timeOrigin + performance.now();
