import { CheckedField, ChoiceField, IntegerField, TextField, UploadedFile } from '#platform/http';

/** Services that clients name. */
export const searchServices = ['google', 'brave'] as const;

/** Body of `POST /augment/search`. */
export class AugmentSearchRequest {
  @TextField({
    description: 'What to search for.',
    example: 'sluice gates',
    required: true,
    minLength: 1,
    maxLength: 400,
  })
  query!: string;

  @IntegerField({ description: 'Maximum number of results.', minimum: 1, maximum: 20, default: 10 })
  limit?: number;

  @ChoiceField(searchServices, {
    description: 'Accepted without effect: the operator chooses the providers.',
  })
  search_provider?: (typeof searchServices)[number];
}

/** Body of `POST /augment/scrape`. */
export class AugmentScrapeRequest {
  @TextField({
    description: 'Address of the page.',
    example: 'https://example.com/article',
    required: true,
    minLength: 1,
    maxLength: 8_192,
    format: 'uri',
  })
  url!: string;
}

/** Maximum size of a file, in bytes. */
export const maxFileBytes = 25 * 1024 * 1024;

export const textFormats = ['json', 'text'] as const;
export type TextFormat = (typeof textFormats)[number];

/** Form of `POST /augment/text-parser`. */
export class AugmentTextRequest {
  @CheckedField({
    name: 'isFile',
    description: 'The file, 25 MB at most: PDF, EPUB, DOCX, PPTX, XLSX, XLS, or any text.',
    required: true,
    schema: { type: 'string', format: 'binary' },
    check: (value) => (value instanceof UploadedFile ? null : 'must be a file part of the form'),
  })
  file!: UploadedFile;

  @ChoiceField(textFormats, { description: 'Format of the response.', default: 'json' })
  response_format?: TextFormat;
}
