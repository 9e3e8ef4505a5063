import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { describe, expect, it } from 'vitest';
import { validateEnvelope, validatePayload } from './payload-validator.js';

class Message {
  @IsIn(['user', 'system']) role!: string;
  @IsString() content!: string;
  @IsOptional() @IsString() name?: string;
}

class Payload {
  @IsArray() @ArrayMinSize(1) @ValidateNested({ each: true }) @Type(() => Message) messages!: Message[];
  @IsOptional() @ValidateNested() @Type(() => Message) prefix?: Message;
  @IsOptional() @IsNumber() @Min(0) @Max(2) temperature?: number;
  @IsInt() @Min(1) n!: number;
  @IsArray() @ArrayMaxSize(2) @IsString({ each: true }) stop!: string[];
  @IsBoolean() strip!: boolean;
}

const valid = { messages: [{ role: 'user', content: 'x' }], n: 1, stop: ['a'], strip: false };

describe('payload validation', () => {
  it('creates instances, drops unknown members and names the invalid member', () => {
    const payload = validatePayload(Payload, { ...valid, added: 'by a later version' });
    expect(payload).toBeInstanceOf(Payload);
    expect(payload.messages[0]).toBeInstanceOf(Message);
    expect(payload).not.toHaveProperty('added');
    const wrong = { ...valid, messages: [{ role: 'user', content: 5 }] };
    expect(() => validatePayload(Payload, wrong)).toThrow(expect.objectContaining({ param: 'messages[0].content' }));
    expect(() => validatePayload(Payload, null)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it('rejects anything but an envelope', () => {
    const envelope = { requestId: 'r', modality: 'm', modelId: 'x', attempt: 1, deadlineAtMs: 5, replyTo: null };
    expect(() => validateEnvelope(envelope)).not.toThrow();
    expect(() => validateEnvelope({ ...envelope, requestId: '' })).toThrow();
    expect(() => validateEnvelope({ ...envelope, deadlineAtMs: Number.NaN })).toThrow();
    expect(() => validateEnvelope({ ...envelope, replyTo: undefined })).toThrow();
  });
});
