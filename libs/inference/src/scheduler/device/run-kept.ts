import type { GraphSession, KeptTensor } from '../../runtime/graph-session.js';

/** Runs a small graph whose outputs stay on the device. */
export async function runKept(
  session: GraphSession,
  feeds: Parameters<GraphSession['run']>[0],
  names: readonly string[],
): Promise<KeptTensor[]> {
  const outputs = await session.runKeeping?.(feeds, names, new Set(names));
  return names.map((name) => outputs?.[name] as KeptTensor);
}
