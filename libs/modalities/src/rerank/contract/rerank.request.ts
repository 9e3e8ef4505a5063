import { BooleanField, CheckedField, IntegerField, TextField } from '#platform/http';
import { maxDocuments } from './rerank.job.js';

/** A document: its text, or an object with its text. */
export type RerankDocumentField = string | { text: string };

/** Returns the text of a document; null if it has none. */
export function textOf(document: unknown): string | null {
  const text: unknown =
    typeof document === 'object' && document !== null ? (document as { text?: unknown }).text : document;
  return typeof text === 'string' && text !== '' ? text : null;
}

function documentsProblem(value: unknown): string | null {
  if (!Array.isArray(value)) return `must be an array of 1 to ${maxDocuments} documents`;
  if (value.length === 0) return 'must hold at least one document';
  if (value.length > maxDocuments) return `must hold at most ${maxDocuments} documents; this one has ${value.length}`;
  const wrong = value.findIndex((document) => textOf(document) === null);
  if (wrong < 0) return null;
  return `must be texts, or objects with a \`text\`, that are not empty, unlike the one at position ${wrong}`;
}

/** Body of `POST /rerank`. Undocumented fields pass through. */
export class RerankRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description: 'A model id, a trait (`default`) or an alias.',
    example: 'default',
  })
  model!: string;

  @TextField({
    required: true,
    minLength: 1,
    description: 'What the documents are compared with. Refused where it leaves no room for a document.',
    example: 'Which boats cross the river?',
  })
  query!: string;

  @CheckedField({
    name: 'isDocumentList',
    required: true,
    description:
      `1 to ${maxDocuments} texts, or objects with a \`text\`. A document that does not fit beside the query into the ` +
      'model’s `maxInputTokens` is read up to there.',
    example: ['The ferry takes ten minutes.', { text: 'Bread is baked at night.' }],
    schema: {
      type: 'array',
      minItems: 1,
      maxItems: maxDocuments,
      items: {
        anyOf: [
          { type: 'string', minLength: 1, title: 'string' },
          {
            type: 'object',
            title: 'document',
            properties: { text: { type: 'string', minLength: 1 } },
            required: ['text'],
          },
        ],
      },
    },
    check: documentsProblem,
  })
  documents!: RerankDocumentField[];

  @TextField({
    minLength: 1,
    maxLength: 4096,
    description:
      'What makes a document relevant, in a sentence. Only for rerankers that read an instruction; others refuse it. ' +
      'Default: the instruction of the model.',
    example: 'Given a question of a sailor, retrieve passages that answer it',
  })
  instruction?: string;

  @IntegerField({ minimum: 1, description: 'Maximum number of results. Without it, every document has one.' })
  top_n?: number;

  @BooleanField({ default: false, description: 'Whether results contain the text of their document.' })
  return_documents?: boolean;

  @IntegerField({ minimum: 1, description: 'Tokens after which a document is cut, below the model’s own limit.' })
  max_tokens_per_doc?: number;
}
