import { PlatformError } from '#common';
import { type ModelType, modelTypes } from '../manifest/index.js';

/** What clients of the API that this one is compatible with send without being told a model. */
const hostedNames: Partial<Record<ModelType, readonly string[]>> = {
  text: [
    ...['gpt-3.5-turbo', 'gpt-4', 'gpt-4-turbo', 'gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'],
    ...['gpt-5', 'gpt-5-mini', 'gpt-5-nano'],
    // Names with a date, a new one every few months.
    'claude-*',
  ],
  embedding: ['text-embedding-ada-002', 'text-embedding-3-small', 'text-embedding-3-large'],
  tts: ['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'],
  asr: ['whisper-1', 'gpt-4o-transcribe', 'gpt-4o-mini-transcribe'],
};

/**
 * Names of hosted models that clients have as their defaults, and of the operator: `hosted`, `none`, or a name with a
 * kind, `my-chat=text`. A name with `*` at its end means every name that begins so. Where no model here has such a
 * name, it means the default model of that kind.
 */
export class CompatibleNames {
  private readonly types = new Map<string, ModelType>();

  /** Throws `INVALID_REQUEST` naming an entry that is no name with a kind. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      if (entry === 'none') continue;
      if (entry === 'hosted') {
        this.addHosted();
        continue;
      }
      const [, name = '', kind] = /^([^=\s]{1,128})=(\w+)$/.exec(entry) ?? [];
      const type = modelTypes.find((candidate) => candidate === kind);
      if (type === undefined) {
        const message = `${entry} is no name with one of the kinds ${modelTypes.join(', ')}, such as gpt-4o=text.`;
        throw new PlatformError('INVALID_REQUEST', `SLUICE_COMPATIBLE_NAMES: ${message}`);
      }
      this.types.set(name, type);
    }
  }

  private addHosted(): void {
    for (const type of modelTypes) for (const name of hostedNames[type] ?? []) this.types.set(name, type);
  }

  has(type: ModelType, name: string): boolean {
    if (this.types.get(name) === type) return true;
    return this.of(type).some((known) => known.endsWith('*') && name.startsWith(known.slice(0, -1)));
  }

  of(type: ModelType): string[] {
    return [...this.types].flatMap(([name, kind]) => (kind === type ? [name] : []));
  }
}

export const noCompatibleNames = new CompatibleNames([]);
