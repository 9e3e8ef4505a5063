import { ApiProperty } from '@nestjs/swagger';

export class AugmentSearchResult {
  @ApiProperty({ type: 'string', example: 'Sluice' })
  title!: string;

  @ApiProperty({ type: 'string', example: 'https://example.com/sluice' })
  url!: string;

  @ApiProperty({ type: 'string', example: 'A sluice is a channel with a gate.' })
  content!: string;

  @ApiProperty({ type: 'string', description: 'As the provider writes it; may be empty.', example: '2026-03-01' })
  date!: string;
}

export class AugmentSearchResponse {
  @ApiProperty({ type: 'string', example: 'sluice gates' })
  query!: string;

  @ApiProperty({ type: () => AugmentSearchResult, isArray: true })
  results!: AugmentSearchResult[];
}

export class AugmentPageLink {
  @ApiProperty({ type: 'string', example: 'Boats' })
  text!: string;

  @ApiProperty({ type: 'string', example: 'https://example.com/boats' })
  url!: string;
}

export class AugmentScrapeResponse {
  @ApiProperty({
    type: 'string',
    description: 'Address of the page, after redirects.',
    example: 'https://example.com/a',
  })
  url!: string;

  @ApiProperty({ type: 'string', description: 'The main content of the page.', example: '# Sluices\n\nA sluice is …' })
  content!: string;

  @ApiProperty({ type: 'string', enum: ['markdown'], example: 'markdown' })
  format!: 'markdown';

  @ApiProperty({ type: 'string', example: 'Sluices' })
  title!: string;

  @ApiProperty({ type: () => AugmentPageLink, isArray: true, description: 'At most 500 links, each address once.' })
  links!: AugmentPageLink[];

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'What the page states: `description`, `author`, `site`, `published`, `language`.',
    example: { language: 'en' },
  })
  metadata!: Record<string, string>;
}

export class AugmentTextResponse {
  @ApiProperty({ type: 'string', example: 'The text of the file.' })
  text!: string;

  @ApiProperty({ type: 'number', description: 'About how many tokens the text has.', example: 6 })
  tokens!: number;
}
