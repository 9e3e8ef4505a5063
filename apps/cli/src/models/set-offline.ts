import type { CliContext } from '../cli-context.js';

export async function setOffline(
  context: CliContext,
  id: string,
  { undo = false, json }: { undo?: boolean; json?: boolean },
): Promise<void> {
  await (await context.requireRegistry()).setDisabled(id, !undo);
  if (json) return context.output.json({ id, disabled: !undo });
  context.output.line(undo ? `${id}: online again where a worker serves it` : `${id}: taken offline within 2 s`);
  context.next(undo ? 'sluice models placement' : `sluice models offline ${id} --undo`);
}
