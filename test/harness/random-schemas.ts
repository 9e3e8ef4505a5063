import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { loadFamilyEngine, type TextGenerationEngine, type TextGenerationEvent } from '#inference';
import { hostLoadOptions } from '#inference/host';
import { hasRepeatedName } from './repeated-names.js';
import { anySchema } from './schema-arbitrary.js';
import { buildTinyModel } from './tiny-models.js';

export interface RandomSchemasResult {
  /** Texts that ended by themselves; each was validated. */
  finished: number;
  /** Texts at the token limit. */
  cut: number;
  /** Schemas of a keyword, or a combination of them, that is not covered. */
  refused: number;
  /** Schema, text and reason of each finished text that an independent validator refuses, and of other failures. */
  failures: string[];
}

interface WrittenText {
  text: string;
  isFinished: boolean;
  error: { code: string; message: string } | null;
}

const streams = 16;
/** As many as the context takes. */
const maxTokens = 230;

/**
 * Lets a tiny model of random weights write a text for each of `count` random schemas, sampled, and validates those that
 * end. `folder` is empty. The same seed gives the same schemas and texts.
 */
export async function runRandomSchemas(
  folder: string,
  { count, seed }: { count: number; seed: number },
): Promise<RandomSchemasResult> {
  const manifest = await buildTinyModel(folder, {});
  const writer = await SchemaWriter.open(folder, manifest);
  const result: RandomSchemasResult = { finished: 0, cut: 0, refused: 0, failures: [] };
  const waiting = fc.sample(anySchema, { seed, numRuns: count }).map((schema, index) => ({ schema, index }));
  const lanes = Array.from({ length: streams }, async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      record(result, next.schema, await writer.write(`r${next.index}`, next.schema, seed + next.index));
    }
  });
  await Promise.all(lanes);
  await writer.close();
  return result;
}

function record(result: RandomSchemasResult, schema: object, { text, isFinished, error }: WrittenText): void {
  if (error !== null) {
    if (error.code === 'INVALID_REQUEST') result.refused++;
    else result.failures.push(JSON.stringify({ schema, error }));
  } else if (!isFinished) result.cut++;
  else {
    result.finished++;
    const reason = reasonAgainst(schema, text);
    if (reason !== null) result.failures.push(JSON.stringify({ schema, text, reason }));
  }
}

function reasonAgainst(schema: object, text: string): string | null {
  try {
    // A validator of its own: ajv keeps what it has compiled.
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    if (hasRepeatedName(text)) return 'a name comes twice';
    return validate(JSON.parse(text)) ? null : JSON.stringify(validate.errors);
  } catch (error) {
    return String(error);
  }
}

/** A text engine whose requests are awaited. */
class SchemaWriter {
  private readonly listeners = new Map<string, (event: TextGenerationEvent) => void>();
  private engine: TextGenerationEngine | null = null;

  static async open(
    folder: string,
    manifest: Parameters<typeof hostLoadOptions>[0]['manifest'],
  ): Promise<SchemaWriter> {
    const writer = new SchemaWriter();
    const options = hostLoadOptions(
      { manifest, directory: folder },
      { providers: ['cpu'], threads: 1, slots: streams },
    );
    const { engine } = await loadFamilyEngine(options, (events) => {
      for (const [id, event] of events) writer.listeners.get(id)?.(event as TextGenerationEvent);
    });
    writer.engine = engine as TextGenerationEngine;
    return writer;
  }

  write(id: string, schema: object, seed: number): Promise<WrittenText> {
    return new Promise((resolve) => {
      const written: WrittenText = { text: '', isFinished: false, error: null };
      this.listeners.set(id, (event) => {
        if (event.type === 'text-delta') written.text += event.text;
        if (event.type === 'choice-finished') written.isFinished = event.finishReason === 'stop';
        if (event.type === 'failed') written.error = event.error;
        if (event.type !== 'failed' && event.type !== 'finished') return;
        this.listeners.delete(id);
        resolve(written);
      });
      this.engine?.submit({
        id,
        prompt: { text: 'the' },
        n: 1,
        sampling: { temperature: 1, topK: 0, topP: 1, seed },
        maxTokens,
        stop: [],
        stopTokenIds: [],
        topLogprobs: null,
        constraint: { type: 'json-schema', schema, param: 'schema' },
      });
    });
  }

  async close(): Promise<void> {
    await this.engine?.close();
  }
}
