/*
 * The near end of a `BenchChild`: loads once, then runs as often as it is told. The channel carries a plan in and timings
 * out, and nothing while the engine runs.
 */
export function serveBench(load: (options: never) => Promise<unknown>, run: (plan: never) => Promise<unknown>): void {
  process.on('message', (message) => {
    // What is sent is what the bench's own contestant says: both ends are one bench.
    const { type, options } = message as { type: 'load' | 'run'; options: never };
    const work = type === 'load' ? load(options) : run(options);
    work.then(
      (value) => process.send?.({ ok: true, value: value ?? null }),
      (error: unknown) => process.send?.({ ok: false, error: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ ok: true, value: 'hello' });
}
