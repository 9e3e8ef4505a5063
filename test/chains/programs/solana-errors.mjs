// Names of errors as JSON-RPC nodes write them; the VM numbers them.

const transactionErrors =
  `AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound InsufficientFundsForFee
InvalidAccountForFee AlreadyProcessed BlockhashNotFound CallChainTooDeep MissingSignatureForFee InvalidAccountIndex
SignatureFailure InvalidProgramForExecution SanitizeFailure ClusterMaintenance AccountBorrowOutstanding
WouldExceedMaxBlockCostLimit UnsupportedVersion InvalidWritableAccount WouldExceedMaxAccountCostLimit
WouldExceedAccountDataBlockLimit TooManyAccountLocks AddressLookupTableNotFound InvalidAddressLookupTableOwner
InvalidAddressLookupTableData InvalidAddressLookupTableIndex InvalidRentPayingAccount WouldExceedMaxVoteCostLimit
WouldExceedAccountDataTotalLimit MaxLoadedAccountsDataSizeExceeded ResanitizationNeeded
InvalidLoadedAccountsDataSizeLimit UnbalancedTransaction ProgramCacheHitMaxLimit CommitCancelled`.split(/\s+/);

const instructionErrors = `GenericError InvalidArgument InvalidInstructionData InvalidAccountData AccountDataTooSmall
InsufficientFunds IncorrectProgramId MissingRequiredSignature AccountAlreadyInitialized UninitializedAccount
UnbalancedInstruction ModifiedProgramId ExternalAccountLamportSpend ExternalAccountDataModified ReadonlyLamportChange
ReadonlyDataModified DuplicateAccountIndex ExecutableModified RentEpochModified NotEnoughAccountKeys
AccountDataSizeChanged AccountNotExecutable AccountBorrowFailed AccountBorrowOutstanding DuplicateAccountOutOfSync
InvalidError ExecutableDataModified ExecutableLamportChange ExecutableAccountNotRentExempt UnsupportedProgramId CallDepth
MissingAccount ReentrancyNotAllowed MaxSeedLengthExceeded InvalidSeeds InvalidRealloc ComputationalBudgetExceeded
PrivilegeEscalation ProgramEnvironmentSetupFailure ProgramFailedToComplete ProgramFailedToCompile Immutable
IncorrectAuthority AccountNotRentExempt InvalidAccountOwner ArithmeticOverflow UnsupportedSysvar IllegalOwner
MaxAccountsDataAllocationsExceeded MaxAccountsExceeded MaxInstructionTraceLengthExceeded
BuiltinProgramsMustConsumeComputeUnits BorshIoError`.split(/\s+/);

function nameInstructionError(error) {
  if (typeof error === 'number') return instructionErrors[error] ?? 'GenericError';
  return 'code' in error ? { Custom: error.code } : 'BorshIoError';
}

/** The `err` of a status or of a simulation. */
export function nameError(error) {
  if (typeof error === 'number') return transactionErrors[error] ?? 'SanitizeFailure';
  if ('accountIndex' in error) return { InsufficientFundsForRent: { account_index: error.accountIndex } };
  if (typeof error.err === 'function') return { InstructionError: [error.index, nameInstructionError(error.err())] };
  return { DuplicateInstruction: error.index };
}

/** A sentence, as nodes put it into the message of a refused transaction. */
export function describeError(name) {
  if (name === 'BlockhashNotFound') return 'Blockhash not found';
  if (name === 'AlreadyProcessed') return 'This transaction has already been processed';
  if (typeof name === 'string') return name;
  const [index, reason] = name.InstructionError ?? [];
  if (index === undefined) return JSON.stringify(name);
  const text = reason.Custom === undefined ? reason : `custom program error: 0x${reason.Custom.toString(16)}`;
  return `Error processing Instruction ${index}: ${text}`;
}
