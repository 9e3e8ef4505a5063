// The methods of a Solana node that wallets, kits and facilitators call, and those with which tests control the chain.
import { address, getBase58Decoder, getBase58Encoder, lamports } from '@solana/kit';
import {
  getMintDecoder,
  identifyTokenInstruction,
  parseTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
  TokenInstruction,
} from '@solana-program/token';
import { describeError } from './solana-errors.mjs';
import { blockhashSlots, readTransaction } from './solana-ledger.mjs';

/** An error as a node answers it. */
export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

const mintBytes = 82;
const feePerSignature = 5_000n;
const u64Max = 18446744073709551615n;
const ranks = { processed: 0, confirmed: 1, finalized: 2 };

function addressOf(text) {
  try {
    return address(text);
  } catch {
    throw new RpcError(-32602, 'Invalid param: Invalid');
  }
}

function bytesOf(text, encoding = 'base58') {
  return encoding === 'base64'
    ? new Uint8Array(Buffer.from(text, 'base64'))
    : new Uint8Array(getBase58Encoder().encode(text));
}

function transactionOf(text, encoding) {
  try {
    return readTransaction(bytesOf(text, encoding));
  } catch {
    throw new RpcError(-32602, 'failed to deserialize solana_transaction::versioned::VersionedTransaction');
  }
}

/** Returns the methods by name; each takes the params of a call. */
export function solanaMethods(ledger, { genesisHash }) {
  const { vm } = ledger;
  const context = () => ({ apiVersion: '2.3.0', slot: ledger.slot });
  const inContext = (value) => ({ context: context(), value });

  function checkSlot(options) {
    if (options?.minContextSlot === undefined || BigInt(options.minContextSlot) <= ledger.slot) return;
    throw new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot: ledger.slot });
  }

  function parsedData(account) {
    if (account.programAddress !== TOKEN_PROGRAM_ADDRESS) return null;
    const space = account.data.length;
    if (space === mintBytes) {
      const { decimals, supply, isInitialized, mintAuthority } = getMintDecoder().decode(account.data);
      const authority = mintAuthority.__option === 'Some' ? mintAuthority.value : null;
      const info = { decimals, freezeAuthority: null, isInitialized, mintAuthority: authority, supply: `${supply}` };
      return { program: 'spl-token', parsed: { type: 'mint', info }, space };
    }
    const token = ledger.tokenAccount(account.address);
    if (token === null) return null;
    const { mint, owner, amount } = token;
    const info = { isNative: false, mint, owner, state: 'initialized', tokenAmount: ledger.uiAmount(amount) };
    return { program: 'spl-token', parsed: { type: 'account', info }, space };
  }

  function presentAccount(account, encoding = 'base64') {
    if (!account.exists) return null;
    const { lamports: balance, programAddress: owner, executable } = account;
    const parsed = encoding === 'jsonParsed' ? parsedData(account) : null;
    const text = Buffer.from(account.data).toString('base64');
    const data = encoding === 'base58' ? getBase58Decoder().decode(account.data) : (parsed ?? [text, 'base64']);
    return { data, executable, lamports: balance, owner, rentEpoch: u64Max, space: BigInt(account.data.length) };
  }

  const readAccount = (key, encoding) => presentAccount(vm.getAccount(addressOf(key)), encoding);

  function tokenAccountsOf(owner, { mint, programId }) {
    return vm.getProgramAccounts(TOKEN_PROGRAM_ADDRESS).filter(({ address: key }) => {
      const token = ledger.tokenAccount(key);
      return token?.owner === owner && (programId === TOKEN_PROGRAM_ADDRESS || token.mint === mint);
    });
  }

  function requireTokens(key) {
    const token = ledger.tokenAccount(addressOf(key));
    if (token === null) throw new RpcError(-32602, 'Invalid param: could not find account');
    return token;
  }

  function simulate(text, options = {}) {
    const transaction = transactionOf(text, options.encoding);
    const { accounts, replaceRecentBlockhash } = options;
    const { err, logs, unitsConsumed, returnData, postAccounts } = ledger.simulate(transaction, options);
    const after = new Map(postAccounts.map((entry) => [getBase58Decoder().decode(entry.address), entry.account()]));
    const presentAfter = (key) => {
      const account = after.get(key);
      if (!account) return readAccount(key, accounts.encoding);
      const [data, owner] = [account.data(), getBase58Decoder().decode(account.owner())];
      const encoded = { exists: true, address: key, data, programAddress: owner, executable: account.executable() };
      return presentAccount({ ...encoded, lamports: account.lamports() }, accounts.encoding);
    };
    return {
      err,
      logs,
      unitsConsumed,
      returnData,
      accounts: accounts ? accounts.addresses.map(presentAfter) : null,
      innerInstructions: null,
      ...(replaceRecentBlockhash && { replacementBlockhash: latestBlockhash() }),
    };
  }

  const latestBlockhash = () => ({
    blockhash: vm.latestBlockhash(),
    lastValidBlockHeight: ledger.slot + blockhashSlots,
  });

  function send(text, options = {}) {
    const transaction = transactionOf(text, options.encoding);
    if (!options.skipPreflight) {
      const { err, logs, unitsConsumed, returnData } = ledger.simulate(transaction, { sigVerify: true });
      const isRepeated = ledger.records.has(transaction.signature);
      if (err !== null || isRepeated) {
        const error = isRepeated ? 'AlreadyProcessed' : err;
        const message = `Transaction simulation failed: ${describeError(error)}`;
        if (error === 'SignatureFailure') throw new RpcError(-32003, 'Transaction signature verification failure');
        throw new RpcError(-32002, message, { accounts: null, err: error, logs, unitsConsumed, returnData });
      }
    }
    ledger.submit(transaction);
    return transaction.signature;
  }

  function presentInstruction(instruction, keys) {
    const accounts = instruction.accountIndices ?? [];
    const data = instruction.data ?? new Uint8Array();
    const programId = keys[instruction.programAddressIndex];
    const raw = { programId, accounts: accounts.map((index) => keys[index]), data: getBase58Decoder().decode(data) };
    if (programId !== TOKEN_PROGRAM_ADDRESS) return { ...raw, stackHeight: 1 };
    if (identifyTokenInstruction(data) !== TokenInstruction.TransferChecked) return { ...raw, stackHeight: 1 };
    const parsed = parseTransferCheckedInstruction({
      programAddress: programId,
      accounts: accounts.map((index) => ({ address: keys[index], role: 0 })),
      data,
    });
    const { source, mint, destination, authority } = parsed.accounts;
    const info = {
      source: source.address,
      mint: mint.address,
      destination: destination.address,
      authority: authority.address,
      tokenAmount: ledger.uiAmount(parsed.data.amount),
    };
    return { program: 'spl-token', programId, parsed: { type: 'transferChecked', info }, stackHeight: 1 };
  }

  function presentMessage({ message }, isParsed) {
    const { header, staticAccounts: keys, lifetimeToken: recentBlockhash } = message;
    const signers = header.numSignerAccounts;
    const writable = (index) =>
      index < signers
        ? index < signers - header.numReadonlySignerAccounts
        : index < keys.length - header.numReadonlyNonSignerAccounts;
    if (isParsed) {
      const accountKeys = keys.map((pubkey, index) => ({
        pubkey,
        signer: index < signers,
        source: 'transaction',
        writable: writable(index),
      }));
      const instructions = message.instructions.map((instruction) => presentInstruction(instruction, keys));
      return { accountKeys, instructions, recentBlockhash };
    }
    const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
      programIdIndex: programAddressIndex,
      accounts: accountIndices,
      data: getBase58Decoder().decode(data ?? new Uint8Array()),
      stackHeight: 1,
    }));
    const counts = {
      numRequiredSignatures: signers,
      numReadonlySignedAccounts: header.numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: header.numReadonlyNonSignerAccounts,
    };
    return { accountKeys: keys, header: counts, instructions, recentBlockhash };
  }

  function presentRecord(record, encoding = 'json') {
    const { err, logs, unitsConsumed, slot, blockTime, message, signatures } = record;
    const { preBalances, postBalances, preTokenBalances, postTokenBalances } = record;
    const transaction =
      encoding === 'base64' || encoding === 'base58'
        ? [
            encoding === 'base64'
              ? Buffer.from(record.bytes).toString('base64')
              : getBase58Decoder().decode(record.bytes),
            encoding,
          ]
        : { message: presentMessage(record, encoding === 'jsonParsed'), signatures };
    return {
      blockTime,
      slot,
      transaction,
      version: message.version,
      meta: {
        ...{ err, fee: feePerSignature * BigInt(signatures.length), logMessages: logs },
        ...{ preBalances, postBalances, preTokenBalances, postTokenBalances },
        ...{ computeUnitsConsumed: unitsConsumed, innerInstructions: [], rewards: [] },
        ...{ loadedAddresses: { readonly: [], writable: [] }, status: err === null ? { Ok: null } : { Err: err } },
      },
    };
  }

  function presentStatus(signature) {
    const status = ledger.statusOf(signature);
    if (status === null) return null;
    const { record, confirmations, confirmationStatus } = status;
    const { err, slot } = record;
    return { slot, confirmations, err, status: err === null ? { Ok: null } : { Err: err }, confirmationStatus };
  }

  function findTransaction(signature, options = {}) {
    const { commitment = 'finalized', encoding } = options;
    const status = ledger.statusOf(signature);
    if (status === null || ranks[status.confirmationStatus] < ranks[commitment]) return null;
    return presentRecord(status.record, encoding);
  }

  function signaturesFor(key, { limit = 1_000, until, before, commitment = 'finalized' } = {}) {
    const found = [...ledger.records.values()].reverse().filter(({ message }) => message.staticAccounts.includes(key));
    const from = before === undefined ? 0 : found.findIndex(({ signature }) => signature === before) + 1;
    const end = found.findIndex(({ signature }) => signature === until);
    return found
      .slice(from, end < 0 ? undefined : end)
      .filter(({ signature }) => ranks[ledger.statusOf(signature).confirmationStatus] >= ranks[commitment])
      .slice(0, limit)
      .map(({ signature, slot, err, blockTime }) => {
        const { confirmationStatus } = ledger.statusOf(signature);
        return { signature, slot, err, memo: null, blockTime, confirmationStatus };
      });
  }

  const reads = {
    getHealth: () => 'ok',
    getVersion: () => ({ 'solana-core': '2.3.0', 'feature-set': 3640012085 }),
    getGenesisHash: () => genesisHash,
    getSlot: ([options]) => (checkSlot(options), ledger.slot),
    getBlockHeight: ([options]) => (checkSlot(options), ledger.slot),
    getBlockTime: () => ledger.nowS(),
    getEpochInfo: () => ({
      ...{ absoluteSlot: ledger.slot, blockHeight: ledger.slot, epoch: 0n, slotIndex: ledger.slot },
      ...{ slotsInEpoch: 432_000n, transactionCount: BigInt(ledger.records.size) },
    }),
    getLatestBlockhash: ([options]) => (checkSlot(options), inContext(latestBlockhash())),
    isBlockhashValid: ([hash]) => inContext(ledger.blockhashes.has(hash)),
    getFeeForMessage: () => inContext(feePerSignature),
    getRecentPrioritizationFees: () => [{ slot: ledger.slot, prioritizationFee: 0n }],
    getMinimumBalanceForRentExemption: ([bytes]) => vm.minimumBalanceForRentExemption(BigInt(bytes)),
    getBalance: ([key, options]) => (checkSlot(options), inContext(vm.getBalance(addressOf(key)) ?? 0n)),
    getAccountInfo: ([key, options]) => (checkSlot(options), inContext(readAccount(key, options?.encoding))),
    getMultipleAccounts: ([keys, options]) => inContext(keys.map((key) => readAccount(key, options?.encoding))),
    getProgramAccounts: ([program, options]) =>
      vm.getProgramAccounts(addressOf(program)).map((account) => ({
        pubkey: account.address,
        account: presentAccount({ ...account, exists: true }, options?.encoding),
      })),
    getTokenAccountBalance: ([key]) => inContext(ledger.uiAmount(requireTokens(key).amount)),
    getTokenSupply: ([key]) => {
      const account = vm.getAccount(addressOf(key));
      if (!account.exists) throw new RpcError(-32602, 'Invalid param: could not find mint');
      return inContext(ledger.uiAmount(getMintDecoder().decode(account.data).supply));
    },
    getTokenAccountsByOwner: ([owner, filter, options]) =>
      inContext(
        tokenAccountsOf(addressOf(owner), filter).map((account) => ({
          pubkey: account.address,
          account: presentAccount({ ...account, exists: true }, options?.encoding),
        })),
      ),
    getSignatureStatuses: ([signatures]) => inContext(signatures.map(presentStatus)),
    getSignaturesForAddress: ([key, options]) => signaturesFor(addressOf(key), options),
    getTransaction: ([signature, options]) =>
      findTransaction(signature, typeof options === 'string' ? { encoding: options } : options),
    simulateTransaction: ([text, options]) => inContext(simulate(text, options)),
    sendTransaction: ([text, options]) => send(text, options),
    requestAirdrop: ([key, amount]) => {
      ledger.passSlot();
      return getBase58Decoder().decode(vm.airdrop(addressOf(key), lamports(BigInt(amount))).signature());
    },
  };

  const controls = {
    svm_openTokenAccount: async ([owner]) => ledger.openTokenAccount(addressOf(owner)),
    svm_mintTo: async ([owner, amount]) => ledger.mintTo(addressOf(owner), BigInt(amount)),
    svm_passSlots: ([slots]) => ledger.passSlot(BigInt(slots)),
    svm_expireBlockhash: () => ledger.expireBlockhashes(),
    svm_withhold: () => void (ledger.isWithheld = true),
    svm_release: () => ledger.release(),
    svm_drop: () => void (ledger.waiting = []),
    svm_waiting: () => ledger.waiting.length,
  };
  return new Map(Object.entries({ ...reads, ...controls }));
}
