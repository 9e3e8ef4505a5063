// @solana/kit against a Solana node. SLUICE_TEST_CLIENT: `{ url, headers, secretKey, payee, mint }`; prints what it got.
import {
  appendTransactionMessageInstructions,
  createDefaultRpcTransport,
  createKeyPairSignerFromBytes,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isSolanaError,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { findAssociatedTokenPda, getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { printResults, readSettings } from './settings.mjs';

const { url, headers, secretKey, payee, mint, polls = 100 } = readSettings();
const rpc = createSolanaRpcFromTransport(createDefaultRpcTransport({ url, headers }));
const payer = await createKeyPairSignerFromBytes(Buffer.from(secretKey, 'base64'));

const tokenAccountOf = async (owner) =>
  (await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS }))[0];

/** Signs a transfer of base units; more than the payer has cannot land. */
async function signTransfer(amount) {
  const { value: blockhash } = await rpc.getLatestBlockhash().send();
  const [source, destination] = await Promise.all([payer.address, payee].map(tokenAccountOf));
  const transfer = getTransferCheckedInstruction({ source, mint, destination, authority: payer, amount, decimals: 6 });
  return await pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(payer, message),
    (message) => setTransactionMessageLifetimeUsingBlockhash(blockhash, message),
    (message) => appendTransactionMessageInstructions([transfer], message),
    (message) => signTransactionMessageWithSigners(message),
  );
}

async function waitFor(signature) {
  for (let poll = 0; poll < polls; poll += 1) {
    const { value } = await rpc.getSignatureStatuses([signature]).send();
    if (value[0] && value[0].confirmationStatus !== 'processed') return value[0].confirmationStatus;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return 'missing';
}

async function refusalOf(run) {
  try {
    await run();
    return null;
  } catch (error) {
    if (!isSolanaError(error)) return String(error);
    return { code: error.context.__code, cause: error.cause?.message, logs: error.context.logs?.length };
  }
}

const send = (transaction) =>
  rpc.sendTransaction(getBase64EncodedWireTransaction(transaction), { encoding: 'base64' }).send();

const { value: account } = await rpc.getAccountInfo(mint, { encoding: 'base64' }).send();
const transaction = await signTransfer(1_500_000n);
const signature = getSignatureFromTransaction(transaction);
const sent = await send(transaction);
const status = await waitFor(signature);
const poor = await signTransfer(10n ** 15n);
const record = await rpc
  .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
  .send();
printResults({
  rentEpoch: account.rentEpoch,
  mintData: account.data[0].length,
  isSent: sent === signature,
  status,
  slot: typeof (await rpc.getSlot().send()),
  paid: (await rpc.getTokenAccountBalance(await tokenAccountOf(payee)).send()).value.amount,
  changes: record.meta.postTokenBalances.map(({ uiTokenAmount }) => uiTokenAmount.amount).sort(),
  tooPoor: await refusalOf(() => send(poor)),
  farSlot: await refusalOf(() => rpc.getSlot({ minContextSlot: 18446744073709551615n }).send()),
  noTokenAccount: await refusalOf(() => rpc.getTokenAccountBalance(payer.address).send()),
});
