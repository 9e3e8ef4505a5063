import { ApiProperty } from '@nestjs/swagger';

/* The response of rerank servers, with the members that clients of several of them read. */

export class RankedText {
  @ApiProperty({ type: 'string', example: 'The ferry takes ten minutes.' })
  text!: string;
}

export class RankedDocument {
  @ApiProperty({ type: 'integer', description: 'Index of the document in the request.', example: 0 })
  index!: number;

  @ApiProperty({ type: 'number', description: 'From 0 to 1; a higher one is more relevant.', example: 0.9731 })
  relevance_score!: number;

  @ApiProperty({ type: () => RankedText, required: false, description: 'With `return_documents`.' })
  document?: RankedText;
}

export class RerankUsage {
  @ApiProperty({ type: 'integer', example: 42 })
  prompt_tokens!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  total_tokens!: number;
}

export class RerankTokens {
  @ApiProperty({ type: 'integer', example: 42 })
  input_tokens!: number;

  @ApiProperty({ type: 'integer', example: 0 })
  output_tokens!: number;
}

export class RerankMeta {
  @ApiProperty({ type: () => RerankTokens, description: 'The same as `usage`, where other clients look for it.' })
  tokens!: RerankTokens;
}

export class RerankResponse {
  @ApiProperty({ type: 'string', description: 'Id of the request.' })
  id!: string;

  @ApiProperty({ type: 'string', description: 'The id the requested model resolved to.', example: 'my-reranker' })
  model!: string;

  @ApiProperty({ type: () => RankedDocument, isArray: true, description: 'Most relevant first.' })
  results!: RankedDocument[];

  @ApiProperty({ type: () => RerankUsage })
  usage!: RerankUsage;

  @ApiProperty({ type: () => RerankMeta })
  meta!: RerankMeta;
}
