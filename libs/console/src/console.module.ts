import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/nest';
import { SessionController } from './session/session.controller.js';

/** The sessions of the console's pages. */
@Module({ imports: [AccountsModule], controllers: [SessionController] })
export class ConsoleModule {}
