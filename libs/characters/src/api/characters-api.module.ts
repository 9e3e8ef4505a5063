import { Module } from '@nestjs/common';
import { CharactersModule } from '../nest/characters.module.js';
import { CharactersController } from './characters.controller.js';

/** The routes of characters. */
@Module({ imports: [CharactersModule], controllers: [CharactersController] })
export class CharactersApiModule {}
