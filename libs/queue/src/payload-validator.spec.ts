import { plainToInstance, Type } from 'class-transformer';
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
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateEnvelope, validatePayload } from './payload-validator.js';
import { passesQuickCheck } from './quick-check.js';

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
  it('accepts no payload that class-validator rejects, and quickly those it accepts', () => {
    const odd = fc.constantFrom(
      undefined,
      null,
      0,
      1,
      1.5,
      -1,
      3,
      Number.NaN,
      '',
      'x',
      true,
      [],
      {},
      ['a'],
      [1],
      ['a', 'b', 'c'],
    );
    const message = fc.record(
      { role: fc.oneof(fc.constantFrom('user', 'system'), odd), content: fc.oneof(fc.string(), odd), name: odd },
      { requiredKeys: [] },
    );
    const payload = fc.record(
      {
        messages: fc.oneof(fc.array(message, { maxLength: 2 }), fc.constant(valid.messages), odd),
        prefix: fc.oneof(message, odd),
        temperature: odd,
        n: fc.oneof(fc.constant(1), odd),
        stop: fc.oneof(fc.constant(['a']), odd),
        strip: fc.oneof(fc.boolean(), odd),
        extra: odd,
      },
      { requiredKeys: [] },
    );
    let accepted = 0;
    fc.assert(
      fc.property(payload, fc.boolean(), (mutation, keep) => {
        const instance = plainToInstance(Payload, keep ? { ...valid, ...mutation } : mutation);
        const errors = validateSync(instance, { forbidUnknownValues: true });
        const quick = passesQuickCheck(instance);
        if (quick) {
          accepted += 1;
          expect(errors).toEqual([]);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(0);
    expect(passesQuickCheck(plainToInstance(Payload, valid))).toBe(true);
  });

  it('makes instances, drops unknown members and names the member that is wrong', () => {
    const payload = validatePayload(Payload, { ...valid, added: 'by a later version' });
    expect(payload).toBeInstanceOf(Payload);
    expect(payload.messages[0]).toBeInstanceOf(Message);
    expect(payload).not.toHaveProperty('added');
    const wrong = { ...valid, messages: [{ role: 'user', content: 5 }] };
    expect(() => validatePayload(Payload, wrong)).toThrow(expect.objectContaining({ param: 'messages.0.content' }));
    expect(() => validatePayload(Payload, null)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it('rejects what is no envelope', () => {
    const envelope = { requestId: 'r', modality: 'm', modelId: 'x', attempt: 1, deadlineAtMs: 5, replyTo: null };
    expect(() => validateEnvelope(envelope)).not.toThrow();
    expect(() => validateEnvelope({ ...envelope, requestId: '' })).toThrow();
    expect(() => validateEnvelope({ ...envelope, deadlineAtMs: Number.NaN })).toThrow();
    expect(() => validateEnvelope({ ...envelope, replyTo: undefined })).toThrow();
  });
});
