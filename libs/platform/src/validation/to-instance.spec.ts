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
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findIssues } from './find-issues.js';
import { toInstance } from './to-instance.js';

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
  @ValidateIf(({ strip }: Payload) => strip) @IsString() tag?: string;
}

const valid = { messages: [{ role: 'user', content: 'x' }], n: 1, stop: ['a'], strip: false };

const odd = fc.constantFrom(
  ...[undefined, null, 0, 1, 1.5, -1, 3, Number.NaN, '', 'x', true, [], {}, ['a'], [1], ['a', 'b', 'c']],
);
const message = fc.record(
  { role: fc.oneof(fc.constantFrom('user', 'system'), odd), content: fc.oneof(fc.string(), odd), name: odd },
  { requiredKeys: [] },
);
const mutation = fc.record(
  {
    messages: fc.oneof(fc.array(message, { maxLength: 2 }), fc.constant(valid.messages), odd),
    prefix: fc.oneof(message, odd),
    temperature: odd,
    n: fc.oneof(fc.constant(1), odd),
    stop: fc.oneof(fc.constant(['a']), odd),
    strip: fc.oneof(fc.boolean(), odd),
    tag: odd,
  },
  { requiredKeys: [] },
);

describe('toInstance', () => {
  it('accepts the same values as class-validator and creates the same as class-transformer', () => {
    let taken = 0;
    fc.assert(
      fc.property(mutation, fc.boolean(), (changes, keep) => {
        const value: object = keep ? { ...valid, ...changes } : changes;
        const theirs = plainToInstance(Payload, value);
        const isRight = validateSync(theirs, { forbidUnknownValues: true }).length === 0;
        expect(findIssues(Payload, value).length === 0).toBe(isRight);
        if (!isRight) return;
        taken += 1;
        expect(toInstance(Payload, value)).toEqual(theirs);
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(0);
  });

  it('creates instances of nested classes too, and drops members without a rule', () => {
    const payload = toInstance(Payload, { ...valid, messages: [{ ...valid.messages[0], more: 1 }], added: 'later' });
    expect(payload).toBeInstanceOf(Payload);
    expect(payload.messages[0]).toBeInstanceOf(Message);
    expect(payload).not.toHaveProperty('added');
    expect(payload.messages[0]).not.toHaveProperty('more');
  });

  it('names the first invalid member', () => {
    const wrong = { ...valid, messages: [{ role: 'user', content: 5 }] };
    expect(() => toInstance(Payload, wrong)).toThrow(expect.objectContaining({ param: 'messages[0].content' }));
    expect(() => toInstance(Payload, null)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it('rejects a class whose nested member has no type', () => {
    class Unsaid {
      @ValidateNested() member!: object;
    }
    expect(() => toInstance(Unsaid, {})).toThrow('Unsaid.member');
  });
});
