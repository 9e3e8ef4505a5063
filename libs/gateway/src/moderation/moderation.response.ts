import { ApiProperty } from '@nestjs/swagger';
import type { Finding } from '../pipeline/policy/content-policy.js';

/** What is found in one input. The three maps have one member per category that was checked. */
export class ModerationResult {
  @ApiProperty({
    type: 'boolean',
    description: 'Whether a category was found: a request with such a text is refused.',
    example: false,
  })
  flagged!: boolean;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'boolean' }, example: { 'terms/en': false } })
  categories!: Record<string, boolean>;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: 'The probability that a model gives; for terms 1 or 0.',
    example: { 'terms/en': 0 },
  })
  category_scores!: Record<string, number>;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    example: { 'terms/en': ['text'] },
  })
  category_applied_input_types!: Record<string, string[]>;
}

export class ModerationResponse {
  @ApiProperty({ type: 'string', example: 'modr-8f3a1b2c4d5e6f70-SLC' })
  id!: string;

  @ApiProperty({ type: 'string', example: 'content-policy' })
  model!: string;

  @ApiProperty({ type: () => ModerationResult, isArray: true })
  results!: ModerationResult[];
}

/** Builds a result from the findings of every category that was checked. */
export function presentModeration(findings: readonly Finding[]): ModerationResult {
  const ofFindings = <Value>(valueOf: (finding: Finding) => Value) =>
    Object.fromEntries(findings.map((finding) => [finding.category, valueOf(finding)]));
  return {
    flagged: findings.some(({ isFlagged }) => isFlagged),
    categories: ofFindings(({ isFlagged }) => isFlagged),
    category_scores: ofFindings(({ score }) => score),
    category_applied_input_types: ofFindings(({ input }) => [input]),
  };
}
