/*
 * Child side of a `BenchChild`: loads once, then runs on each command. The channel carries plans and timings, and
 * nothing while the engine runs.
 */
export function serveBench(load: (options: never) => Promise<unknown>, run: (plan: never) => Promise<unknown>): void {
  process.on('message', (message) => {
    // Both ends belong to the same bench, so messages need no validation.
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
