import type { DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute } from '../admin.document.js';
import { CharacterDocumentRequest, CharacterRequest, CharacterReviewRequest } from './character.request.js';
import { AdminCharacterResponse, CharacterFilesResponse, RemovedDocumentsResponse } from './character.response.js';

/* OpenAPI documents of the routes that edit characters. */

const errors = adminErrors;
const done = { 204: { description: 'Done.' } };

export const charactersDocuments = {
  show: {
    ...adminRoute,
    operationId: 'getAdminCharacter',
    summary: 'Show a character with its prompt and its documents',
    description: 'For operators: every field that an operator writes, and the files that it answers from.',
    responses: { 200: { json: AdminCharacterResponse } },
    errors: [...errors, 404],
  },
  save: {
    ...adminRoute,
    operationId: 'saveAdminCharacter',
    summary: 'Add a character, or replace its definition',
    description:
      'For operators. Fields that are absent become empty; reviews, documents and statistics stay. Chats use the change ' +
      'within 2 s.',
    body: CharacterRequest,
    example: { name: 'Night porter', systemPrompt: 'You are the night porter of a small hotel.' },
    responses: { 200: { json: AdminCharacterResponse } },
    errors: [...errors, 415],
  },
  remove: {
    ...adminRoute,
    operationId: 'removeAdminCharacter',
    summary: 'Remove a character with its reviews and documents',
    description: 'For operators.',
    responses: done,
    errors: [...errors, 404],
  },
  review: {
    ...adminRoute,
    operationId: 'reviewAdminCharacter',
    summary: 'Review a character',
    description: 'For operators. It replaces an earlier review of the same account.',
    body: CharacterReviewRequest,
    example: { rating: 5, message: 'Polite and brief.' },
    responses: done,
    errors: [...errors, 404, 415],
  },
  addDocument: {
    ...adminRoute,
    operationId: 'addAdminCharacterDocument',
    summary: 'Add a document that a character answers from',
    description:
      'For operators. The response comes when the file is read and a worker has embedded its passages, which costs no ' +
      'credit. A failure changes nothing, and an unchanged file is not embedded again. Chats use it within 2 s.',
    body: CharacterDocumentRequest,
    example: { file: '(the file)', name: 'menu.pdf' },
    responses: { 200: { json: CharacterFilesResponse } },
    errors: [...errors, 404, 413, 415, 503, 504],
  },
  removeDocument: {
    ...adminRoute,
    operationId: 'removeAdminCharacterDocument',
    summary: 'Remove one document of a character',
    description: 'For operators.',
    responses: done,
    errors: [...errors, 404, 503],
  },
  removeDocuments: {
    ...adminRoute,
    operationId: 'removeAdminCharacterDocuments',
    summary: 'Remove the documents of a character',
    description: 'For operators.',
    responses: { 200: { json: RemovedDocumentsResponse } },
    errors: [...errors, 404, 503],
  },
} satisfies Record<string, DocumentedRoute>;
