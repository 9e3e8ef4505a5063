import { documentLimits } from '#characters';
import { BooleanField, FileField, IntegerField, ScalarListField, TextField, type UploadedFile } from '#platform/http';

/** Body of `POST /characters/{slug}`: the fields of a file of `sluice characters add`, without the slug. */
export class CharacterRequest {
  @TextField({ required: true, notBlank: true, maxLength: 100, description: 'Its name.', example: 'Night porter' })
  name!: string;

  @TextField({
    required: true,
    notBlank: true,
    maxLength: 32_000,
    description: 'Follows the default system prompt. No other response than this of operators contains it.',
    example: 'You are the night porter of a small hotel. Answer politely and briefly.',
  })
  systemPrompt!: string;

  @TextField({ maxLength: 10_000, description: 'What lists show.' })
  description?: string;

  @TextField({ maxLength: 8_000, description: 'What the character says first.' })
  greeting?: string;

  @TextField({ maxLength: 200, notBlank: true, description: 'An id, alias or trait; absent: `default`.' })
  model?: string;

  @ScalarListField('string', { minItems: 0, maxItems: 50, description: 'Words that lists filter by.' })
  tags?: string[];

  @TextField({ maxLength: 100, notBlank: true, description: 'Absent: `unknown`.' })
  author?: string;

  @BooleanField({ description: 'Meant for adults.', default: false })
  adult?: boolean;

  @BooleanField({ description: 'Comes first in lists.', default: false })
  featured?: boolean;

  @BooleanField({ description: 'Meant for web search.', default: false })
  webAccess?: boolean;

  @TextField({ maxLength: 2_048, description: 'Address of a photo.' })
  photoUrl?: string;

  @TextField({ maxLength: 2_048, description: 'Address where it is shared.' })
  shareUrl?: string;
}

/** Body of `POST /characters/{slug}/reviews`. */
export class CharacterReviewRequest {
  @IntegerField({ required: true, minimum: 1, maximum: 5, description: 'Stars.' })
  rating!: number;

  @TextField({ maxLength: 5_000, notBlank: true, description: 'What the reviewer says.' })
  message?: string;

  @TextField({ maxLength: 100, notBlank: true, description: 'Name of the reviewer; absent: `Operator`.' })
  username?: string;
}

/** Form of `POST /characters/{slug}/documents`. */
export class CharacterDocumentRequest {
  @FileField({
    required: true,
    description: 'The file, 25 MB at most: PDF, EPUB, DOCX, PPTX, XLSX, XLS, or any text.',
  })
  file!: UploadedFile;

  @TextField({
    maxLength: documentLimits.nameLength,
    notBlank: true,
    description: 'What citations call it; absent: the name of the file. A document of the same name is replaced.',
    example: 'menu.pdf',
  })
  name?: string;

  @TextField({
    maxLength: 200,
    notBlank: true,
    description: 'Embedding model; absent: that of the other documents, or the default one.',
    example: 'all-minilm-l6-v2',
  })
  model?: string;
}
