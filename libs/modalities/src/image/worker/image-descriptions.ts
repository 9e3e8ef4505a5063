import { PlatformError } from '#common';
import type { TaskOptions, TaskRunner } from '#inference/host';
import type { DetectedObject, DetectObjectsOutput, ReadTextOutput, RgbPixels } from '#inference/tasks';

/** Maximum length of a text, in characters. */
const maxLength = 4_000;
const cutMark = ' […]';

/** The task of each family that turns images into text, and the text of its output. */
const descriptions: Partial<Record<string, { task: string; textOf: (output: object) => string }>> = {
  'pp-ocr': { task: 'read-text', textOf: (output) => textOfLines(output as ReadTextOutput) },
  'coco-ssd': { task: 'detect-objects', textOf: (output) => textOfObjects((output as DetectObjectsOutput).objects) },
};

/**
 * Returns the text that stands for an image, empty if the model found nothing; null if the job was cancelled. Throws
 * `INVALID_MODEL` for a family that describes no images.
 */
export async function describeImage(
  image: RgbPixels,
  { family, runner, id, options }: { family: string; runner: TaskRunner; id: string; options: TaskOptions },
): Promise<string | null> {
  const description = descriptions[family];
  if (description === undefined) {
    throw new PlatformError('INVALID_MODEL', `The family ${family} does not describe images.`);
  }
  const request = { id, task: description.task, input: { image } };
  const { cancelled, output } = await runner.runTask(request, options);
  return cancelled || output === null ? null : description.textOf(output);
}

function textOfLines({ lines }: ReadTextOutput): string {
  if (lines.length === 0) return '';
  const text = lines.map((line) => line.text).join('\n');
  const bound = maxLength - cutMark.length;
  return `Text:\n${text.length <= bound ? text : `${text.slice(0, bound)}${cutMark}`}`;
}

/** Counts each kind of object, in the order of the first of them. */
function textOfObjects(objects: readonly DetectedObject[]): string {
  if (objects.length === 0) return '';
  const counts = new Map<string, number>();
  for (const { label } of objects) counts.set(label, (counts.get(label) ?? 0) + 1);
  const named = [...counts].map(([label, count]) => (count === 1 ? label : `${label} (${count})`));
  return `Objects: ${named.join(', ')}`;
}
