import { type Refusal, refuse } from '../refusal.js';
import { isSignedBy } from './solana-key.js';
import type { SolanaInstruction, SolanaTransaction } from './solana-transaction.js';
import { tokenProgram } from './token-account.js';

const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111';
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/** Some wallets add assertions of what the transaction may do to their user. */
const assertionProgram = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';

const setComputeUnitLimit = 2;
const setComputeUnitPrice = 3;
const transferChecked = 12;
const maxMemos = 1;
const maxAssertions = 3;
/** Micro-lamports per compute unit, as the protocol allows. */
const maxUnitPrice = 5_000_000n;
/** Lamports that the priority of one transaction may cost the fee payer. */
const maxPriorityFee = 500_000n;

/** What the transaction must pay, to whom, and who pays the fees. */
export interface ExpectedPayment {
  readonly mint: string;
  /** Token account of the receiver. */
  readonly destination: string;
  readonly payTo: string;
  readonly amount: bigint;
  readonly feePayer: string;
}

export interface PaymentTransfer {
  readonly payer: string;
  /** Token account of the payer. */
  readonly source: string;
}

/**
 * Checks a transaction before the fee payer signs it. It may hold, in this order: the limit of compute units, their price,
 * one transfer of the token, at most one memo, and assertions of wallets. The fee payer is an account of none of them:
 * whatever else it signed could spend its money.
 */
export function checkPaymentLayout(
  transaction: SolanaTransaction,
  expected: ExpectedPayment,
): PaymentTransfer | Refusal {
  const { instructions } = transaction;
  const wrong = checkSigners(transaction, expected) ?? checkFees(instructions) ?? checkRest(instructions.slice(3));
  if (wrong) return wrong;
  const transfer = readTransfer(transaction, expected);
  if ('reason' in transfer) return transfer;
  const { keys, message, signatures } = transaction;
  const signature = signatures[1];
  if (keys[1] !== transfer.payer || !signature || !isSignedBy(transfer.payer, message, signature))
    return refuse('invalid_exact_svm_payload_signature_invalid', 'The payer has not signed the transaction.');
  return transfer;
}

function checkSigners({ keys, signerCount, instructions }: SolanaTransaction, { feePayer }: ExpectedPayment) {
  if (keys[0] !== feePayer)
    return refuse('invalid_exact_svm_fee_payer_mismatch', `The fee payer must be ${feePayer}, as the offer says.`);
  if (instructions.some(({ accounts, program }) => accounts.includes(0) || program === feePayer))
    return refuse(
      'invalid_exact_svm_payload_transaction_fee_payer_transferring_funds',
      'The fee payer must not be an account of any instruction.',
    );
  if (signerCount === 2) return null;
  return refuse('invalid_exact_svm_payload_excessive_signers', 'Exactly the fee payer and the payer must sign.');
}

/** Data of an instruction of the compute budget: its kind, and a number behind it. */
function budgetOf(instruction: SolanaInstruction | undefined, kind: number, bytes: number): bigint | null {
  if (instruction?.program !== computeBudgetProgram || instruction.accounts.length > 0) return null;
  const { data } = instruction;
  if (data.length !== 1 + bytes || data[0] !== kind) return null;
  return bytes === 4 ? BigInt(data.readUInt32LE(1)) : data.readBigUInt64LE(1);
}

function checkFees([first, second]: readonly SolanaInstruction[]): Refusal | null {
  const prefix = 'invalid_exact_svm_payload_transaction_instructions_compute';
  const limit = budgetOf(first, setComputeUnitLimit, 4);
  if (limit === null)
    return refuse(`${prefix}_limit_instruction`, 'The first instruction must set the limit of compute units.');
  const price = budgetOf(second, setComputeUnitPrice, 8);
  if (price === null)
    return refuse(`${prefix}_price_instruction`, 'The second instruction must set the price of compute units.');
  if (price <= maxUnitPrice && limit * price <= maxPriorityFee * 1_000_000n) return null;
  return refuse(
    `${prefix}_price_instruction_too_high`,
    `The priority may cost at most ${maxPriorityFee} lamports and ${maxUnitPrice} micro-lamports per unit.`,
  );
}

function checkRest(instructions: readonly SolanaInstruction[]): Refusal | null {
  const countOf = (program: string) => instructions.filter((instruction) => instruction.program === program).length;
  const memos = countOf(memoProgram);
  const assertions = countOf(assertionProgram);
  if (memos + assertions === instructions.length && memos <= maxMemos && assertions <= maxAssertions) return null;
  const other = instructions.find(({ program }) => program !== memoProgram && program !== assertionProgram);
  return refuse(
    'invalid_exact_svm_payload_unknown_optional_instruction',
    other
      ? `The transaction must contain nothing but the payment; it calls ${other.program} as well.`
      : 'The transaction has too many memos or assertions.',
  );
}

function readTransfer({ instructions, keys }: SolanaTransaction, expected: ExpectedPayment): PaymentTransfer | Refusal {
  const [, , transfer] = instructions;
  const missing = 'invalid_exact_svm_payload_no_transfer_instruction';
  if (transfer?.program !== tokenProgram || transfer.data[0] !== transferChecked)
    return refuse(missing, 'The third instruction must be a TransferChecked of the token program.');
  const { accounts, data } = transfer;
  const [source = '', mint, destination, payer = ''] = accounts.map((index) => keys[index]);
  if (data.length !== 10 || accounts.length !== 4)
    return refuse(missing, 'The TransferChecked must have four accounts, an amount and decimals.');
  if (mint !== expected.mint)
    return refuse('invalid_exact_svm_payload_mint_mismatch', `The transfer must be of the mint ${expected.mint}.`);
  if (destination !== expected.destination)
    return refuse(
      'invalid_exact_svm_payload_recipient_mismatch',
      `The transfer must go to ${expected.destination}, the token account of ${expected.payTo}.`,
    );
  if (source === destination || payer === expected.payTo)
    return refuse('invalid_exact_svm_payload_recipient_mismatch', 'The payer and the receiver are the same.');
  const amount = data.readBigUInt64LE(1);
  if (amount === expected.amount) return { payer, source };
  return refuse(
    'invalid_exact_svm_payload_amount_mismatch',
    `The transfer is of ${amount} base units; expected ${expected.amount}.`,
  );
}
