import { Injectable } from '@nestjs/common';
import { type Character, CharacterDocuments, documentLimits, type DocumentTools } from '#characters';
import { PlatformError } from '#common';
import { DocumentExtractor } from '#documents';
import { RequestPipeline } from '#gateway';
import { TextEmbedder } from '#gateway/inputs';
import { ApiConfig } from '#platform/config';
import type { HttpExchange } from '#platform/http';
import type { CharacterDocumentRequest } from './character.request.js';

/** Makes files documents of characters: the extractor reads them, and a worker embeds their passages. */
@Injectable()
export class CharacterFilesService {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly embedder: TextEmbedder,
    private readonly extractor: DocumentExtractor,
    private readonly documents: CharacterDocuments,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Rejects as `CharacterDocuments.add` and `DocumentExtractor.extract` do, with `MODEL_NOT_FOUND` or `MODEL_OFFLINE` for
   * the model, and as its jobs do.
   */
  async add(
    http: HttpExchange,
    character: Character,
    { file, name: givenName, model: modelName }: CharacterDocumentRequest,
  ): Promise<void> {
    const name = documentName(givenName ?? file.filename);
    const model = await this.pipeline.open(http, { name: modelName ?? character.documentsModel, type: 'embedding' });
    model.requireServed();
    const { disconnected: signal, caller } = http;
    const { chatDeadlineMs: deadlineMs } = this.config;
    const hints = {
      owner: caller.accountId,
      param: 'file',
      filename: file.filename || name,
      contentType: file.contentType,
    };
    const tools: DocumentTools = {
      modelId: model.manifest.id,
      param: 'file',
      textOf: async ({ bytes }) => (await this.extractor.extract({ bytes, signal, ...hints })).text,
      embed: (texts) => this.embedder.embedWhole(model, { texts: [...texts], deadlineMs, signal }),
    };
    await this.documents.add(character, { name, bytes: file.bytes }, tools);
  }
}

/** Prompts and citations contain the name. Throws `INVALID_REQUEST`. */
function documentName(untrimmed: string): string {
  const name = untrimmed.trim();
  const { nameLength } = documentLimits;
  if (name === '') throw wrongName('is required where the file has none');
  if (name.length > nameLength) throw wrongName(`must have at most ${nameLength} characters`);
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) throw wrongName('must not hold control characters');
  return name;
}

function wrongName(problem: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', `name ${problem}.`, 'name');
}
