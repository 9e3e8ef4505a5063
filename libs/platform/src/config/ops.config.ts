import { join, resolve } from 'node:path';
import { DatabaseConfig } from './base.config.js';
import { WithPaymentExecution } from './payment.variables.js';
import { SetTogether } from './set-together.js';
import {
  StakeContractAddress,
  StakeDecimals,
  StakeDiem,
  StakeRpcUrl,
  type StakeSettings,
  stakeSettingsOf,
} from './stake.variables.js';
import { BooleanVariable, IntegerVariable, PortVariable, TextVariable } from './variable.js';

const oneDayMs = 86_400_000;

export class OpsConfig extends WithPaymentExecution(DatabaseConfig) {
  @TextVariable('SLUICE_OPS_HOST', {
    about: 'Address of its health and metrics server.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  host!: string;

  @PortVariable('SLUICE_OPS_PORT', {
    about: 'Port of its health and metrics server; 0: a free one.',
    default: 3002,
  })
  port!: number;

  @IntegerVariable('SLUICE_SWEEP_INTERVAL_MS', {
    about: 'Interval of the sweeps.',
    default: 3_000,
    min: 50,
    max: oneDayMs,
  })
  sweepIntervalMs!: number;

  @IntegerVariable('SLUICE_LOST_AFTER_MS', {
    about: 'Age at which a job that the queue lacks is re-enqueued.',
    default: 15_000,
    min: 100,
    max: oneDayMs,
  })
  lostAfterMs!: number;

  @IntegerVariable('SLUICE_JOB_RETENTION_DAYS', {
    about: 'Days until closed jobs, results and reservations are deleted; 0: never.',
    default: 90,
    min: 0,
    max: 3_650,
  })
  jobRetentionDays!: number;

  @IntegerVariable('SLUICE_LEDGER_VERIFY_MS', {
    about: 'Interval of ledger verification, which reads every entry; 0: off.',
    default: 900_000,
    min: 0,
    max: oneDayMs,
  })
  ledgerVerifyMs!: number;

  @BooleanVariable('SLUICE_MODEL_INSTALLS', {
    about: 'Whether ops installs models for the console and the Admin API (docs/operate/models.md); `npm start`: true.',
    default: false,
  })
  modelInstalls!: boolean;

  @TextVariable('SLUICE_IMPORT_FOLDER', {
    about: 'Folder of files that the console may install; default: `import` in SLUICE_HOME.',
    optional: true,
    expected: 'a path',
  })
  importFolderPath?: string;

  /** Absolute path. */
  get importFolder(): string {
    return resolve(this.importFolderPath ?? join(this.home, 'import'));
  }

  @StakeRpcUrl()
  stakeRpcUrl?: string;

  @StakeContractAddress()
  stakeContractAddress?: string;

  @StakeDecimals()
  stakeDecimals!: number;

  @StakeDiem()
  stakeDiem!: string;

  @IntegerVariable('SLUICE_STAKE_REFRESH_MS', {
    about: 'Time until a stake is read again; without a stake, a day.',
    default: 600_000,
    min: 1_000,
    max: oneDayMs,
  })
  stakeRefreshMs!: number;

  /** Where stakes are read again; null: nowhere. */
  @SetTogether({ SLUICE_STAKE_RPC_URL: 'stakeRpcUrl', SLUICE_STAKE_CONTRACT: 'stakeContractAddress' })
  get stakeSettings(): StakeSettings | null {
    return stakeSettingsOf(this);
  }
}
