import { createPrivateKey, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { base58Bytes, encodeBase58 } from '#accounts';
import { isRefusal } from '../refusal.js';
import { checkPaymentLayout, type ExpectedPayment } from './payment-layout.js';
import { SolanaKey } from './solana-key.js';
import { decodeSolanaTransaction, type SolanaTransaction, withFeePayerSignature } from './solana-transaction.js';
import { associatedTokenAccount, tokenProgram } from './token-account.js';

/** What the protocol's own client wrote for the payer of 32 bytes 0x22; 0x33 is the fee payer, 0x44 the receiver. */
const recorded =
  'AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABbYehmPGl1ZhpllhyA3vw7f5M074kNToOT1/3sK+c0wtCba4+4MIyukiTs8bq5Hfjwm3dgH/7rBfzp3wCdsmwFgAIBBAgXy3n7K0Eg8rHsZeQZjW4Iso6BP+sB5KQAg5uF4YCAzqCapfR6Z1mAL/lV+NwtKhSlyZ0jvpf4ZBJ/+Tg0VaTwI+1SywetX4szU06fTsSbetmUiHhxRDRG2FeALlR+kKj/ZTblbvQXJtivtjGSLTOp7UURhQ64wBnxA6E7YM7kIAMGRm/lIRcy/+ytunLDm+e8jOW7xfcSayxDmzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEFSlNamSkhBk0k6HFg2jh8fDW13bySu4HkH6hAQQVEjQbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcEBAAFAiBOAAAEAAkDAQAAAAAAAAAHBAIFAwEKDEBLTAAAAAAABgYAIDY1ODZhMWVlYzQ1NGZmNjI3NGI1OGRlOGU1NWMyNDBlAA==';
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const payer = 'Bow1CGKGDB9mNxeWdw85E2aCthQ1oZX4oFEe7fYT17ew';
const feePayer = '2btLJAAb1S3x6hZYdVyAePjqtQYi2ZBSRGy4569RZu8h';
const payTo = 'FVdnakemjhcemfWUgNR2AERbk5Pog7zJ1UF2LjbocBUj';
const outsider = encodeBase58(new Uint8Array(32).fill(9));
const expected: ExpectedPayment = {
  mint,
  payTo,
  feePayer,
  amount: 5_000_000n,
  destination: associatedTokenAccount({ owner: payTo, mint }),
};

function decoded(text = recorded): SolanaTransaction {
  const transaction = decodeSolanaTransaction(text);
  if (typeof transaction === 'string') throw new Error(transaction);
  return transaction;
}

interface Instruction {
  program: string;
  accounts: string[];
  data: Buffer;
}

const number = (value: number | bigint, bytes: 4 | 8) => {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 4) buffer.writeUInt32LE(Number(value));
  else buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
};
const budget = 'ComputeBudget111111111111111111111111111111';
const memo = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const systemProgram = '11111111111111111111111111111111';
const source = associatedTokenAccount({ owner: payer, mint });
const unitLimit: Instruction = { program: budget, accounts: [], data: Buffer.from([2, ...number(20_000, 4)]) };
const unitPrice: Instruction = { program: budget, accounts: [], data: Buffer.from([3, ...number(1, 8)]) };
const transfer: Instruction = {
  program: tokenProgram,
  accounts: [source, mint, expected.destination, payer],
  data: Buffer.from([12, ...number(5_000_000, 8), 6]),
};
const note: Instruction = { program: memo, accounts: [], data: Buffer.from('a note') };
const usual = [unitLimit, unitPrice, transfer, note];

/** Writes and signs a transaction as a payer may. */
function build(instructions: Instruction[], { signers = [feePayer, payer] }: { signers?: string[] } = {}): string {
  const named = instructions.flatMap(({ program, accounts }) => [...accounts, program]);
  const keys = [...new Set([...signers, ...named])];
  const body = instructions.map(({ program, accounts, data }) =>
    Buffer.from([
      keys.indexOf(program),
      accounts.length,
      ...accounts.map((key) => keys.indexOf(key)),
      data.length,
      ...data,
    ]),
  );
  const message = Buffer.concat([
    Buffer.from([0x80, signers.length, 0, 0, keys.length]),
    ...keys.map((key) => base58Bytes(key, 32) ?? Buffer.alloc(0)),
    Buffer.alloc(32, 7),
    Buffer.from([instructions.length]),
    ...body,
    Buffer.from([0]),
  ]);
  const signatures = signers.map((key) => (key === payer ? sign(null, message, payerKey) : Buffer.alloc(64)));
  return Buffer.concat([Buffer.from([signers.length]), ...signatures, message]).toString('base64');
}

const payerKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 0x22)]),
  format: 'der',
  type: 'pkcs8',
});

function check(text: string, change: Partial<ExpectedPayment> = {}) {
  return checkPaymentLayout(decoded(text), { ...expected, ...change });
}

describe('a Solana payment', () => {
  it('of the client of the protocol is accepted', () => {
    expect(check(recorded)).toEqual({ payer, source });
    expect(check(build(usual))).toEqual({ payer, source });
    expect(check(build(usual.slice(0, 3)))).toEqual({ payer, source });
  });

  it.each([
    ['another amount', { amount: 5_000_001n }, 'invalid_exact_svm_payload_amount_mismatch'],
    ['another mint', { mint: outsider }, 'invalid_exact_svm_payload_mint_mismatch'],
    ['another receiver', { destination: outsider }, 'invalid_exact_svm_payload_recipient_mismatch'],
    ['another fee payer', { feePayer: outsider }, 'invalid_exact_svm_fee_payer_mismatch'],
    ['itself', { payTo: payer }, 'invalid_exact_svm_payload_recipient_mismatch'],
  ])('for %s is refused', (_name, change, reason) => {
    expect(check(recorded, change)).toMatchObject({ reason });
  });

  const spend: Instruction = { program: systemProgram, accounts: [feePayer, payer], data: Buffer.alloc(12, 2) };
  const harmless: Instruction = { program: systemProgram, accounts: [payer, outsider], data: Buffer.alloc(12, 2) };
  it.each([
    ['an instruction that spends from the fee payer', [...usual, spend], 'fee_payer_transferring_funds'],
    [
      'the fee payer as an account of the memo',
      [unitLimit, unitPrice, transfer, { ...note, accounts: [feePayer] }],
      'fee_payer_transferring_funds',
    ],
    [
      'the fee payer as authority',
      [unitLimit, unitPrice, { ...transfer, accounts: [source, mint, expected.destination, feePayer] }],
      'fee_payer_transferring_funds',
    ],
    ['one more instruction', [...usual, harmless], 'unknown_optional_instruction'],
    ['two memos', [...usual, note], 'unknown_optional_instruction'],
    ['a second transfer', [unitLimit, unitPrice, transfer, transfer], 'unknown_optional_instruction'],
    ['another order', [unitPrice, unitLimit, transfer], 'compute_limit_instruction'],
    ['no price', [unitLimit, transfer, note], 'compute_price_instruction'],
    [
      'a high price',
      [unitLimit, { ...unitPrice, data: Buffer.from([3, ...number(5_000_001, 8)]) }, transfer],
      'price_instruction_too_high',
    ],
    [
      'a high fee',
      [
        { ...unitLimit, data: Buffer.from([2, ...number(1_400_000, 4)]) },
        { ...unitPrice, data: Buffer.from([3, ...number(1_000_000, 8)]) },
        transfer,
      ],
      'price_instruction_too_high',
    ],
    ['no transfer', [unitLimit, unitPrice, note], 'no_transfer_instruction'],
    [
      'a plain transfer',
      [unitLimit, unitPrice, { ...transfer, data: Buffer.from([3, ...number(5_000_000, 8)]) }],
      'no_transfer_instruction',
    ],
    [
      'a transfer with several signers',
      [unitLimit, unitPrice, { ...transfer, accounts: [...transfer.accounts, outsider] }],
      'no_transfer_instruction',
    ],
    [
      'a transfer from the account that it goes to',
      [unitLimit, unitPrice, { ...transfer, accounts: [expected.destination, mint, expected.destination, payer] }],
      'recipient_mismatch',
    ],
    [
      'a transfer of another sender',
      [unitLimit, unitPrice, { ...transfer, accounts: [source, mint, expected.destination, outsider] }],
      'signature_invalid',
    ],
    [
      'a lower amount',
      [unitLimit, unitPrice, { ...transfer, data: Buffer.from([12, ...number(1, 8), 6]) }],
      'amount_mismatch',
    ],
  ] as [string, Instruction[], string][])('with %s is refused before it is signed', (_name, instructions, reason) => {
    const result = check(build(instructions));
    expect(result).toMatchObject({ reason: expect.stringContaining(reason) });
  });

  it('with more signers, or without the signature of its payer, is refused', () => {
    expect(check(build(usual, { signers: [feePayer, payer, outsider] }))).toMatchObject({
      reason: 'invalid_exact_svm_payload_excessive_signers',
    });
    const bytes = Buffer.from(recorded, 'base64');
    bytes.fill(0, 65, 129);
    expect(check(bytes.toString('base64'))).toMatchObject({ reason: 'invalid_exact_svm_payload_signature_invalid' });
  });

  it('is refused with a sentence after any change of its message', () => {
    const original = Buffer.from(recorded, 'base64');
    for (let at = 0; at < original.length; at += 1)
      for (const bit of [1, 0x80]) {
        const bytes = Buffer.from(original);
        bytes[at] = (bytes[at] ?? 0) ^ bit;
        const transaction = decodeSolanaTransaction(bytes.toString('base64'));
        const result = typeof transaction === 'string' ? transaction : checkPaymentLayout(transaction, expected);
        // The first 64 bytes behind the count are the place of the fee payer's signature, which is filled in later.
        if (at >= 1 && at < 65) expect(result).toEqual({ payer, source });
        else expect(typeof result === 'string' || isRefusal(result)).toBe(true);
      }
  });

  it('is refused with a sentence when it ends early, is too long or is none', () => {
    const original = Buffer.from(recorded, 'base64');
    for (let length = 0; length < original.length; length += 1)
      expect(typeof decodeSolanaTransaction(original.subarray(0, length).toString('base64'))).toBe('string');
    const longer = Buffer.concat([original, Buffer.from([0])]).toString('base64');
    for (const value of [longer, '%', 'A'.repeat(1_000_000), undefined, null, 5, {}, []])
      expect(typeof decodeSolanaTransaction(value)).toBe('string');
  });

  it('is sent as it was signed, with the signature of the fee payer', () => {
    const transaction = decoded();
    const signature = Buffer.alloc(64, 5);
    const sent = decoded(withFeePayerSignature(transaction, signature).toString('base64'));
    expect(sent.signatures).toEqual([signature, transaction.signatures[1]]);
    expect(sent.message).toEqual(transaction.message);
  });
});

describe('the key of a fee payer', () => {
  it('is a pair whose halves belong together', () => {
    const pair = encodeBase58(Buffer.concat([Buffer.alloc(32, 0x33), base58Bytes(feePayer, 32) ?? Buffer.alloc(0)]));
    expect(new SolanaKey(pair).address).toBe(feePayer);
    const other = encodeBase58(Buffer.concat([Buffer.alloc(32, 0x34), base58Bytes(feePayer, 32) ?? Buffer.alloc(0)]));
    expect(() => new SolanaKey(other)).toThrow('do not belong together');
    expect(() => new SolanaKey(feePayer)).toThrow('not 64 bytes long');
  });
});
