import { DeviceSession } from './device-session.js';

/** By provider: whether its device computes with half floats. */
const known = new Map<string, Promise<boolean>>();

/**
 * Whether a device computes with half floats, found by doubling some: what it lacks shows only when a graph runs. Asked
 * once per process.
 */
export function takesHalfFloats(provider: string): Promise<boolean> {
  const trial = known.get(provider) ?? tryHalfFloats(provider);
  known.set(provider, trial);
  return trial;
}

async function tryHalfFloats(provider: string): Promise<boolean> {
  const { halfFloatGraph } = await import('#model-store/device');
  const options = { modelPath: '', model: halfFloatGraph(), intraOpThreads: 1, spinning: false };
  const session = await DeviceSession.open(options, { provider, providerNote: null });
  try {
    const one = 0x3c00;
    const { y } = await session.run({ x: session.tensor('float16', Uint16Array.of(one, one), [2]) }, ['y']);
    const two = 0x4000;
    return y?.data instanceof Uint16Array && y.data.every((bits) => bits === two);
  } catch {
    return false;
  } finally {
    await session.release();
  }
}
