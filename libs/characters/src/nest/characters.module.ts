import { Module } from '@nestjs/common';
import { CharacterDocuments } from '../documents/character-documents.service.js';
import { CharacterUses } from '../character-uses.service.js';
import { CharactersService } from '../characters.service.js';

/** Characters and the counts of their chats. */
@Module({
  providers: [CharactersService, CharacterUses, CharacterDocuments],
  exports: [CharactersService, CharacterUses, CharacterDocuments],
})
export class CharactersModule {}
