import { invalidField } from '#gateway';
import type { ChatTool } from '../../contract/chat.tools.js';
import type { ResponsesWarning } from '../../contract/responses/responses.response.js';
import {
  isCustomTool,
  isFunctionTool,
  isNamespaceTool,
  isServerTool,
  type ResponsesCustomTool,
  type ResponsesFunctionTool,
  type ResponsesMemberTool,
  type ResponsesNamespaceTool,
  type ResponsesNestedFunctionTool,
  type ResponsesServerTool,
  type ResponsesTool,
} from '../../contract/responses/responses.tools.js';
import type { FieldNames } from '../job/field-names.js';
import { withoutNulls } from '../job/without-nulls.js';
import { ToolNames } from './tool-names.js';

function flatTool(tool: ResponsesFunctionTool | ResponsesNestedFunctionTool): ResponsesFunctionTool {
  const { name, description, parameters, strict } = 'function' in tool ? tool.function : tool;
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? false,
  };
}

/** Server tools that chat completions have too; whether a model has them is checked there. */
function isSearch(type: ResponsesServerTool['type']): type is 'web_search' | 'x_search' {
  return type === 'web_search' || type === 'x_search';
}

/** Translates the tools of a request to those of a chat. */
export class ToolTranslator {
  readonly chat: ChatTool[] = [];
  /** The tools that the model sees, as the response echoes them. */
  readonly tools: object[] = [];
  readonly warnings: ResponsesWarning[] = [];
  readonly known = new ToolNames();

  constructor(private readonly names: FieldNames) {}

  /** Adds a tool; `field` is its field. Throws `INVALID_REQUEST` for one that a service would have to run. */
  add(tool: ResponsesTool, field: string): void {
    if (isNamespaceTool(tool)) this.addNamespace(tool, field);
    else if (isServerTool(tool)) this.addServerTool(tool, field);
    else this.echo(this.addMember(tool, field));
  }

  private echo(tool: object | null): void {
    if (tool !== null) this.tools.push(tool);
  }

  private addNamespace({ name, description, tools }: ResponsesNamespaceTool, field: string): void {
    const members = tools.flatMap((tool, index) => this.addMember(tool, `${field}.tools[${index}]`, name) ?? []);
    if (members.length > 0) this.echo({ type: 'namespace', name, description: description ?? null, tools: members });
  }

  /** Returns the tool as it is echoed; null for one that is skipped. */
  private addMember(tool: ResponsesMemberTool, field: string, namespace?: string): object | null {
    if (isFunctionTool(tool)) return this.addFunction(tool, field, namespace);
    if (isCustomTool(tool)) return this.addCustom(tool, field, namespace);
    this.skip(tool.type, field, 'are unknown here');
    return null;
  }

  private addFunction(
    tool: ResponsesFunctionTool | ResponsesNestedFunctionTool,
    field: string,
    namespace?: string,
  ): ResponsesFunctionTool {
    const flat = flatTool(tool);
    const { description, parameters, strict } = flat;
    const name = this.known.add({ name: flat.name, ...withoutNulls({ namespace }), isCustom: false });
    this.name(field, 'function' in tool ? `${field}.function` : field);
    this.chat.push({ type: 'function', function: withoutNulls({ name, description, parameters, strict }) });
    return flat;
  }

  private addCustom(
    { name, description, format: inputFormat }: ResponsesCustomTool,
    field: string,
    namespace?: string,
  ): object {
    const chatName = this.known.add({ name, ...withoutNulls({ namespace }), isCustom: true });
    const { type = 'text', syntax, definition } = inputFormat ?? {};
    const path = `tools[${this.chat.length}].custom`;
    for (const place of [`${path}.format`, `${path}.format.grammar`]) this.names.set(place, `${field}.format`);
    this.names.set(`tools[${this.chat.length}]`, field);
    this.names.set(path, field);
    const format = type === 'grammar' ? { type, grammar: { syntax, definition } } : { type };
    // What is wrong with the format, the check of the chat request finds.
    this.chat.push({ type: 'custom', custom: withoutNulls({ name: chatName, description, format }) } as ChatTool);
    return { type: 'custom', name, description: description ?? null, format: inputFormat ?? { type: 'text' } };
  }

  private addServerTool(tool: ResponsesServerTool, field: string): void {
    const { type, allowed_x_handles, excluded_x_handles, from_date, to_date } = tool;
    if (tool.external_web_access === false) return this.skip(type, field, 'need access to the web');
    if (!isSearch(type)) {
      throw invalidField(`${field}.type: this service does not run the tool ${type}.`, `${field}.type`, 'unsupported');
    }
    this.names.set(`tools[${this.chat.length}]`, field);
    this.chat.push({ type, ...withoutNulls({ allowed_x_handles, excluded_x_handles, from_date, to_date }) });
  }

  /** Names the fields of the next tool of the chat. */
  private name(field: string, functionField: string): void {
    const path = `tools[${this.chat.length}]`;
    this.names.set(path, field);
    this.names.set(`${path}.function`, functionField);
  }

  private skip(type: string, param: string, reason: string): void {
    this.warnings.push(skippedTool(param, `Tools of type ${type.slice(0, 64)} ${reason}.`));
  }
}

/** The warning about a tool that is left out. */
export function skippedTool(param: string, reason: string): ResponsesWarning {
  return { code: 'tool_skipped', param, message: `${reason} The model does not see it.` };
}
