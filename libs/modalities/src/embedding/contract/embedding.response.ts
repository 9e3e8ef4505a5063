import { ApiProperty } from '@nestjs/swagger';

/* The OpenAI embeddings response, for the API document. The presenter writes it piece by piece. */

export class EmbeddingItem {
  @ApiProperty({ type: 'string', enum: ['embedding'], example: 'embedding' })
  object!: 'embedding';

  @ApiProperty({ type: 'integer', description: 'Index of its text in the request.', example: 0 })
  index!: number;

  @ApiProperty({
    description: 'The vector; with `encoding_format: base64` a string of little-endian float32 bytes.',
    oneOf: [{ type: 'array', items: { type: 'number' } }, { type: 'string' }],
    example: [0.0123, -0.0456, 0.0789],
  })
  embedding!: number[] | string;
}

export class EmbeddingUsage {
  @ApiProperty({ type: 'integer', example: 9 })
  prompt_tokens!: number;

  @ApiProperty({ type: 'integer', example: 9 })
  total_tokens!: number;
}

export class EmbeddingResponse {
  @ApiProperty({ type: 'string', enum: ['list'], example: 'list' })
  object!: 'list';

  @ApiProperty({ type: 'string', description: 'The id the requested model resolved to.', example: 'all-minilm-l6-v2' })
  model!: string;

  @ApiProperty({ type: () => EmbeddingItem, isArray: true, description: 'In the order of the input.' })
  data!: EmbeddingItem[];

  @ApiProperty({ type: () => EmbeddingUsage })
  usage!: EmbeddingUsage;
}
