import { Command } from 'commander';
import { addAccountCommands } from './accounts/account-commands.js';
import { addKeyCommands } from './accounts/key-commands.js';
import { addBackupCommands } from './backup/backup-commands.js';
import { addCharacterCommands } from './characters/character-commands.js';
import type { CliContext } from './cli-context.js';
import { addConsoleCommands } from './console/console-commands.js';
import { addMigrateCommand } from './database/migrate-command.js';
import { addDoctorCommand } from './doctor/doctor-command.js';
import { addJobCommands } from './jobs/job-commands.js';
import { addLimitCommands } from './limits/limit-commands.js';
import { addModelCommands } from './models/model-commands.js';
import { addMoneyCommands } from './money/money-commands.js';
import { addSearchCommands } from './search/search-commands.js';
import { addPoolCommands } from './pools/pool-commands.js';
import { addRpcCommands } from './rpc/rpc-commands.js';
import { addTeeCommands } from './tee/tee-commands.js';
import { addTopUpCommands } from './top-ups/top-up-commands.js';
import { addWorkerCommands } from './workers/worker-commands.js';

/** The complete command line. Each group registers its own commands. */
export function createProgram(context: CliContext): Command {
  const program = new Command('sluice')
    .description('Command-line tool for operating a Sluice installation.')
    .helpCommand(false)
    // bin/sluice.mjs runs them, since they are apps of their own.
    .addHelpText('after', '\n`sluice start` runs everything on this machine, `sluice worker` only a worker.')
    .showHelpAfterError('Add --help for a list of commands.')
    .exitOverride();
  addMigrateCommand(program, context);
  addBackupCommands(program, context);
  addModelCommands(program, context);
  addAccountCommands(program, context);
  addKeyCommands(program, context);
  addCharacterCommands(program, context);
  addMoneyCommands(program, context);
  addTopUpCommands(program, context);
  addLimitCommands(program, context);
  addSearchCommands(program, context);
  addRpcCommands(program, context);
  addTeeCommands(program, context);
  addJobCommands(program, context);
  addWorkerCommands(program, context);
  addPoolCommands(program, context);
  addConsoleCommands(program, context);
  addDoctorCommand(program, context);
  return program;
}
