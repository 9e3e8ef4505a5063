/* The settings of the chat playground, and the request that they make. */

/** Texts as typed; empty means that the request leaves the field out. */
export interface ChatSettings {
  system: string;
  temperature: string;
  topP: string;
  maxTokens: string;
  seed: string;
  stop: string;
  reasoningEffort: string;
  /** A JSON array. */
  tools: string;
  /** A JSON schema. */
  schema: string;
}

export const emptySettings: ChatSettings = {
  system: '',
  temperature: '',
  topP: '',
  maxTokens: '',
  seed: '',
  stop: '',
  reasoningEffort: '',
  tools: '',
  schema: '',
};

export interface Attachment {
  name: string;
  kind: 'image' | 'file' | 'audio';
  dataUrl: string;
}

export interface Question {
  role: 'user';
  content: string;
  attachments: readonly Attachment[];
}

/** A message as the service gets it. */
export type Turn = Question | { role: 'assistant'; content: string; reasoning: string };

/** A setting that no request can be made of. The message begins with the label of its field. */
export class SettingError extends Error {
  override readonly name = 'SettingError';

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
  }
}

/** Returns the body of `POST /api/v1/chat/completions`. Throws a `SettingError` that names a field. */
export function chatRequestOf(model: string, settings: ChatSettings, turns: readonly Turn[]): Record<string, unknown> {
  const system = settings.system.trim();
  const tools = parseSetting('Tools', settings.tools);
  const schema = parseSetting('JSON schema', settings.schema);
  if (tools !== null && !Array.isArray(tools)) throw new SettingError('Tools', 'write a JSON array of tools.');
  const stop = settings.stop.split('\n').filter((line) => line !== '');
  return {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turns.map(messageOf)],
    ...numberField('temperature', 'Temperature', settings.temperature),
    ...numberField('top_p', 'Top p', settings.topP),
    ...numberField('max_completion_tokens', 'Longest answer', settings.maxTokens),
    ...numberField('seed', 'Seed', settings.seed),
    ...(stop.length === 0 ? {} : { stop }),
    ...(settings.reasoningEffort === '' ? {} : { reasoning_effort: settings.reasoningEffort }),
    ...(tools === null ? {} : { tools }),
    ...(schema === null ? {} : { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function messageOf(turn: Turn): Record<string, unknown> {
  const { role, content } = turn;
  if (turn.role === 'assistant') {
    return { role, content, ...(turn.reasoning === '' ? {} : { reasoning_content: turn.reasoning }) };
  }
  if (turn.attachments.length === 0) return { role, content };
  return { role, content: [...turn.attachments.map(partOf), { type: 'text', text: content }] };
}

function partOf({ kind, name, dataUrl }: Attachment): Record<string, unknown> {
  switch (kind) {
    case 'image':
      return { type: 'image_url', image_url: { url: dataUrl } };
    case 'audio': {
      const format = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? 'wav';
      return { type: 'input_audio', input_audio: { data: dataUrl.slice(dataUrl.indexOf(',') + 1), format } };
    }
    case 'file':
      return { type: 'file', file: { filename: name, file_data: dataUrl } };
  }
}

function numberField(name: string, label: string, text: string): Record<string, number> {
  if (text.trim() === '') return {};
  const value = Number(text);
  if (!Number.isFinite(value)) throw new SettingError(label, 'write a number.');
  return { [name]: value };
}

function parseSetting(label: string, text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SettingError(label, error instanceof Error ? error.message : 'is no JSON.');
  }
}
