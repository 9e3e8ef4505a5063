import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { readPiperVoice, settingsEnding } from '../voices/index.js';
import type { ExportedModel } from './exported-model.js';
import { pullError } from './pull-error.js';
import { lastPart, listNames } from './text-model-layout.js';

/* Voices in the layout of Piper: a graph, and beside it its settings. */

const graphEnding = '.onnx';

/**
 * Describes the voice of a folder, package or repository: the named one, by its path or its name, or the only one. Null if
 * there is none. Fails with `MODEL_PULL_FAILED` that lists the voices if one must be named, and with `INVALID_MODEL` if no
 * family can speak as this one.
 */
export async function describeVoice(
  files: ModelFiles,
  { where, file }: { where: string; file?: string },
): Promise<ExportedModel | null> {
  const { names } = files;
  const voices = [...names]
    .filter((path) => path.endsWith(graphEnding) && names.has(`${path}${settingsEnding}`))
    .sort();
  if (voices.length === 0) return null;
  const graphFile = chooseVoice(voices, { where, file });
  const settingsFile = `${graphFile}${settingsEnding}`;
  const settings = await readJsonObject(files, settingsFile);
  readPiperVoice(settings);
  return {
    family: 'piper',
    title: nameOf(graphFile),
    graphFile,
    familyOptions: {},
    paths: [graphFile, settingsFile],
    config: { ...settings, model_type: 'piper' },
    preprocessor: {},
    generation: {},
  };
}

function chooseVoice(voices: readonly string[], { where, file }: { where: string; file?: string }): string {
  if (file === undefined) {
    const [only = '', ...others] = voices;
    if (others.length === 0) return only;
    throw pullError(
      `${where} has several voices; name one, as in ${where}:${nameOf(only)}. ${listNames(voices.map(nameOf))}`,
    );
  }
  const found = voices.find((path) => path === file || lastPart(path) === file || nameOf(path) === file);
  if (found === undefined) throw pullError(`${where} has no voice ${file}. ${listNames(voices.map(nameOf))}`);
  return found;
}

/** `en_US-amy-medium` of `en/en_US/amy/medium/en_US-amy-medium.onnx`. */
function nameOf(path: string): string {
  return lastPart(path).slice(0, -graphEnding.length);
}
