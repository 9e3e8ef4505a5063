// Signs a payment as its payer: a transfer whose fees somebody else pays and who signs after it. SLUICE_TEST_CLIENT:
// `{ url, secretKey, payTo, mint, feePayer, amount }`; prints the transaction in base64.
import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { findAssociatedTokenPda, getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { randomUUID } from 'node:crypto';
import { printResults, readSettings } from './settings.mjs';

const { url, secretKey, payTo, mint, feePayer, amount } = readSettings();
const payer = await createKeyPairSignerFromBytes(Buffer.from(secretKey, 'base64'));
const tokenAccountOf = async (owner) =>
  (await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS }))[0];
const [source, destination] = await Promise.all([payer.address, payTo].map(tokenAccountOf));

/** Instructions of the compute budget have their kind in the first byte. */
function budget(kind, value, bytes) {
  const data = Buffer.alloc(1 + bytes);
  data.writeUInt8(kind);
  if (bytes === 4) data.writeUInt32LE(value, 1);
  else data.writeBigUInt64LE(BigInt(value), 1);
  return { programAddress: address('ComputeBudget111111111111111111111111111111'), data: new Uint8Array(data) };
}

const transfer = getTransferCheckedInstruction({
  ...{ source, mint, destination, authority: payer, amount: BigInt(amount), decimals: 6 },
});
// Two payments of one amount differ in their memo.
const memo = {
  programAddress: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
  accounts: [],
  data: new TextEncoder().encode(randomUUID()),
};
const { value: blockhash } = await createSolanaRpc(url).getLatestBlockhash().send();
const signed = await pipe(
  createTransactionMessage({ version: 0 }),
  (message) => setTransactionMessageFeePayer(feePayer, message),
  (message) => setTransactionMessageLifetimeUsingBlockhash(blockhash, message),
  (message) => appendTransactionMessageInstructions([budget(2, 20_000, 4), budget(3, 1, 8), transfer, memo], message),
  (message) => partiallySignTransactionMessageWithSigners(message),
);
printResults({ transaction: getBase64EncodedWireTransaction(signed) });
