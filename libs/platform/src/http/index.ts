export { FileField, FileListField } from './file-field.js';
export { fieldOfPart, FormBody, UploadedFile } from './form-body.js';
export { Exchange, HttpExchange, StreamedResponse } from './http-exchange.js';
export { isGiven } from './is-given.js';
export { jsonContent } from './json-content.js';
export { queryFault, queryText } from './query-fault.js';
export { RawJsonBody } from './raw-json.js';
export { readBody } from './read-body.js';
export {
  Access,
  Billed,
  callerOf,
  LargeBody,
  LimitedByModel,
  Multipart,
  type MultipartLimits,
  RawJson,
  type RequestCaller,
  type ResponseOfJob,
  Retired,
  type RouteSettings,
} from './route-access.js';
export { ApiRoute, binaryContent, type DocumentedRoute } from './route-document.js';
export { sseData, SseWriter } from './sse-writer.js';
export { RequestBody } from './request-body.js';
export {
  BooleanField,
  CheckedField,
  ChoiceField,
  FreeObjectField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  ScalarListField,
  TextField,
} from './request-fields.js';
