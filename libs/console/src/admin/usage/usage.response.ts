import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /usage`. */

const amount = { type: 'string', example: '0.000048000' } as const;
const count = { type: 'integer', minimum: 0, example: 12 } as const;

export class UsageFiguresResponse {
  @ApiProperty({ ...count, description: 'Requests that succeeded, or were charged for what they delivered.' })
  requests!: number;

  @ApiProperty({ ...count, description: 'Requests that failed and cost nothing.' }) failed!: number;
  @ApiProperty(count) promptTokens!: number;
  @ApiProperty({ ...count, description: 'Prompt tokens that were found in a cache.' }) cachedTokens!: number;
  @ApiProperty(count) completionTokens!: number;
  @ApiProperty({ ...amount, description: 'In USD, nine decimals; one DIEM counts as one USD.' }) spend!: string;
  @ApiProperty({ ...amount, description: 'The part of `spend` that was paid in DIEM.' }) diem!: string;
}

export class UsageGroupResponse extends UsageFiguresResponse {
  @ApiProperty({ type: 'string', description: 'A date, a model, the id of a key, or a kind of request.' }) key!: string;
  @ApiProperty({ type: 'string', description: 'What people read.' }) label!: string;
}

export class AdminUsageResponse {
  @ApiProperty({ type: 'string', enum: ['USD'] }) currency!: 'USD';
  @ApiProperty({ type: 'string', example: '2026-11-21' }) from!: string;
  @ApiProperty({ type: 'string', example: '2026-11-27' }) to!: string;
  @ApiProperty({ type: 'string', example: 'Europe/Berlin' }) tz!: string;
  @ApiProperty({ type: () => UsageGroupResponse, isArray: true }) groups!: UsageGroupResponse[];
  @ApiProperty({ type: () => UsageFiguresResponse }) total!: UsageFiguresResponse;
}
