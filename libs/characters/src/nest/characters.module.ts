import { Module } from '@nestjs/common';
import { CharacterDocuments } from '../documents/character-documents.service.js';
import { CharacterUses } from '../character-uses.service.js';
import { CharactersRepository } from '../characters.repository.js';
import { DocumentsRepository } from '../documents/documents.repository.js';
import { ReviewsRepository } from '../reviews.repository.js';
import { CharactersService } from '../characters.service.js';

/** Characters and the counts of their chats. */
@Module({
  providers: [
    CharactersRepository,
    ReviewsRepository,
    DocumentsRepository,
    CharactersService,
    CharacterUses,
    CharacterDocuments,
  ],
  exports: [CharactersService, CharacterUses, CharacterDocuments],
})
export class CharactersModule {}
