import type { ChatEffectiveParameters, ChatToolCall } from '../../contract/chat.response.js';

/** Name of the tool call that carries search results for clients that read documents from one. */
export const documentsCallName = 'service_web_search_documents';

/** The values in effect for the first chunk of a stream; null where nothing was looked up. */
export function streamedParameters(parameters: ChatEffectiveParameters): ChatEffectiveParameters | null {
  const { web_search_citations: citations, web_search_error: problem } = parameters;
  if (citations.length === 0 && problem === undefined) return null;
  if (parameters.include_search_results_in_stream) return parameters;
  // The texts of the results are long.
  return { ...parameters, web_search_citations: citations.map(({ content: _content, ...citation }) => citation) };
}

/** The results as a tool call, if they were asked for so; it needs no result of the client. */
export function documentsCall(requestId: string, parameters: ChatEffectiveParameters): ChatToolCall | null {
  const { web_search_citations: documents, return_search_results_as_documents: asDocuments } = parameters;
  if (!asDocuments || documents.length === 0) return null;
  const called = { name: documentsCallName, arguments: JSON.stringify({ documents }) };
  return { id: `call_documents_${requestId}`, type: 'function', function: called };
}
