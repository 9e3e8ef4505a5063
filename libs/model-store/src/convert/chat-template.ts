import { CallTimeout, callWithin } from '#platform/timed-call';
import { Template } from '@huggingface/jinja';
import { trimEndOf } from '#platform/text';
import { invalidFile, quoted } from './invalid-file.js';
import { type ModelFiles, readJsonObject } from './safetensors/model-files.js';

/** No template takes longer than some ms; the clock goes on while a busy machine does something else. */
const maxReadMs = 5_000;

/**
 * Refuses a chat template that is no text or no Jinja, which else fails when the converted model is loaded. `value` is a
 * text, or a list of named ones of which one is used, as files store it.
 */
export function checkChatTemplate(fileName: string, value: unknown, limitMs = maxReadMs): void {
  const source = Array.isArray(value) ? usedTemplate(value) : value;
  if (source === undefined || source === null) return;
  if (typeof source !== 'string') throw invalidFile(fileName, 'its chat template is no text');
  try {
    callWithin(limitMs, () => new Template(source));
  } catch (error) {
    throw invalidFile(fileName, `its chat template cannot be read: ${templateFault(error)}`);
  }
}

/** The parser runs over the end of a template that is cut short. */
function templateFault(error: unknown): string {
  if (error instanceof CallTimeout) return 'it takes too long';
  if (!(error instanceof Error) || error instanceof TypeError) return 'it ends in the middle of a statement';
  return quoted(trimEndOf(error.message, '.'));
}

function usedTemplate(list: unknown[]): unknown {
  const entries = list.filter((entry): entry is { name?: unknown; template?: unknown } => isObject(entry));
  return (entries.find(({ name }) => name === 'default') ?? entries[0])?.template;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const templateFile = 'chat_template.jinja';
/** No template comes near this size. */
const maxTemplateBytes = 4 * 1024 * 1024;

/** Checks the template of a model in the layout of the hubs, and returns whether there is one. */
export async function checkHubTemplate(files: ModelFiles): Promise<boolean> {
  if (files.names.has(templateFile)) {
    checkChatTemplate(templateFile, await readTemplate(files));
    return true;
  }
  for (const name of ['chat_template.json', 'tokenizer_config.json']) {
    if (!files.names.has(name)) continue;
    const { chat_template: template } = await readJsonObject(files, name);
    checkChatTemplate(name, template);
    if (template !== undefined && template !== null) return true;
  }
  return false;
}

async function readTemplate(files: ModelFiles): Promise<string> {
  const file = await files.open(templateFile);
  try {
    if (file.bytes > maxTemplateBytes) {
      throw invalidFile(templateFile, `it has ${file.bytes} bytes, too many for a template`);
    }
    return Buffer.from(await file.read(0, file.bytes)).toString('utf8');
  } finally {
    await file.close?.();
  }
}
