export { installBundled } from './bundled/install-bundled.js';
export { type CardOptions, formatCharacterCard, readCharacterCard } from './cards/character-card.js';
export { averageRating, type Character, type CharacterDefinition, defaultModel } from './character.js';
export { CharacterUses } from './character-uses.service.js';
export { CharactersRepository } from './characters.repository.js';
export { CharactersService } from './characters.service.js';
export {
  CharacterDocuments,
  type DocumentChanges,
  documentLimits,
  type DocumentTools,
  type SourceFile,
} from './documents/character-documents.service.js';
export { splitIntoPassages } from './documents/passages.js';
export { DocumentsRepository, type FoundPassage } from './documents/documents.repository.js';
export { characterFields, formatCharacterFile, parseCharacterFile, readCharacter } from './files/character-file.js';
export { bundledCharacterFolder, loadCharacterFolder } from './files/character-folder.js';
export { ReviewsRepository } from './reviews.repository.js';
