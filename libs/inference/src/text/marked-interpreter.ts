import { Environment } from '@huggingface/jinja';
import { BoundedInterpreter, noTemplateLimits, type TemplateLimits } from './bounded-interpreter.js';
import { type ControlTokens, isMarked, restoreEscapedMarks } from './control-tokens.js';

/** A value of the library's interpreter, whose classes it does not export. */
interface Value {
  type: string;
  value: unknown;
  builtins: ReadonlyMap<string, Value>;
  toString(): string;
}

interface StringValue extends Value {
  value: string;
}

interface FunctionValue extends Value {
  value: (args: Value[], scope: unknown) => Value;
}

interface SyntaxNode {
  type: string;
}

interface BinaryNode extends SyntaxNode {
  operator: { value: string };
  left: SyntaxNode;
  right: SyntaxNode;
}

interface MemberNode extends SyntaxNode {
  object: SyntaxNode;
  property: SyntaxNode & { value?: unknown };
  computed: boolean;
}

interface FilterNode extends SyntaxNode {
  value?: string;
  callee?: { value?: string };
  args?: SyntaxNode[];
}

/** Members of the library's interpreter used here, which its types do not expose. */
interface OpenInterpreter {
  checkLength(length: number): void;
  run(program: unknown): Value;
  evaluate(node: SyntaxNode | undefined, environment: unknown): Value;
  evaluateBlock(nodes: readonly SyntaxNode[], environment: unknown): Value;
  evaluateBinaryExpression(node: BinaryNode, environment: unknown): Value;
  evaluateMemberExpression(node: MemberNode, environment: unknown): Value;
  evaluateArguments(args: readonly SyntaxNode[], environment: unknown): [Value[], Map<string, Value>];
  applyFilter(operand: Value, filter: FilterNode, environment: unknown): Value;
}

const OpenBoundedInterpreter = BoundedInterpreter as unknown as new (
  environment: Environment,
  limits: TemplateLimits,
) => OpenInterpreter;

const samples = new Environment();
type Class<Instance, Content> = new (value: Content) => Instance;
const StringClass = classOf(samples.set('string', '')) as Class<StringValue, string>;
const ListClass = classOf(samples.set('list', [])) as Class<Value, Value[]>;
const FunctionClass = classOf(samples.set('function', () => null)) as Class<FunctionValue, FunctionValue['value']>;

const comparisons: ReadonlySet<string> = new Set(['==', '!=', 'in', 'not in']);
const changesOfCase: ReadonlySet<string> = new Set(['upper', 'lower', 'title', 'capitalize']);

/** A value in the place of an expression that was evaluated before. */
class Evaluated implements SyntaxNode {
  readonly type = 'Evaluated';
  constructor(readonly value: Value) {}
}

/**
 * Runs chat templates on marked text, within limits. What a template asks of a text (whether it begins with, contains or equals
 * another) is answered for the text without marks, and what it cuts out of a text keeps its marks. So a template does
 * with marked text what it does with plain text.
 */
export class MarkedInterpreter extends OpenBoundedInterpreter {
  constructor(
    environment: Environment,
    private readonly control: ControlTokens,
    limits: TemplateLimits = noTemplateLimits,
  ) {
    super(environment, limits);
  }

  override evaluate(node: SyntaxNode | undefined, environment: unknown): Value {
    return node instanceof Evaluated ? node.value : super.evaluate(node, environment);
  }

  override evaluateBlock(nodes: readonly SyntaxNode[], environment: unknown): Value {
    let text = '';
    for (const node of nodes) {
      const value = this.evaluate(node, environment);
      if (value.type === 'NullValue' || value.type === 'UndefinedValue') continue;
      text += isString(value) ? value.value : restoreEscapedMarks(value.toString());
      this.checkLength(text.length);
    }
    return new StringClass(text);
  }

  override evaluateBinaryExpression(node: BinaryNode, environment: unknown): Value {
    if (!comparisons.has(node.operator.value)) return super.evaluateBinaryExpression(node, environment);
    const left = this.plain(this.evaluate(node.left, environment));
    const isSearch = node.operator.value.endsWith('in');
    const right = this.plain(this.evaluate(node.right, environment), isSearch);
    const operands = { left: new Evaluated(left), right: new Evaluated(right) };
    return super.evaluateBinaryExpression({ ...node, ...operands }, environment);
  }

  override evaluateMemberExpression(node: MemberNode, environment: unknown): Value {
    const object = this.evaluate(node.object, environment);
    if (node.computed && node.property.type === 'SliceExpression') return this.member(object, node, environment);
    const property = node.computed
      ? this.evaluate(node.property, environment)
      : new StringClass(String(node.property.value));
    if (!isString(property) || node.property.type === 'IntegerLiteral') return this.member(object, node, environment);
    if (isString(object)) {
      const method = this.stringMethod(object, property.value);
      if (method !== null) return method;
    }
    return this.lookUp(object, property.value, (name) =>
      this.member(object, { ...node, computed: true, property: new Evaluated(new StringClass(name)) }, environment),
    );
  }

  override applyFilter(operand: Value, filter: FilterNode, environment: unknown): Value {
    const name = filter.type === 'Identifier' ? filter.value : filter.callee?.value;
    if (name === 'tojson' || (name === 'string' && !isString(operand))) {
      const json = super.applyFilter(operand, filter, environment);
      return isString(json) ? new StringClass(restoreEscapedMarks(json.value)) : json;
    }
    const method = name !== undefined && isString(operand) ? this.stringMethod(operand, name) : null;
    const isFilter = name === 'replace' || changesOfCase.has(name ?? '');
    if (method === null || !isFilter) return super.applyFilter(operand, filter, environment);
    const [args, named] = this.evaluateArguments(filter.args ?? [], environment);
    return method.value([...args, ...named.values()], environment);
  }

  private member(object: Value, node: MemberNode, environment: unknown): Value {
    return super.evaluateMemberExpression({ ...node, object: new Evaluated(object) }, environment);
  }

  /** Names of members may be marked, and those by which a template looks them up too. */
  private lookUp(object: Value, name: string, find: (name: string) => Value): Value {
    const found = find(name);
    if (!(object.value instanceof Map)) return found;
    if (name === 'get' && !object.value.has(name) && isFunction(found)) return this.getter(object, found);
    if (found.type !== 'UndefinedValue') return found;
    const other = isMarked(name) ? this.control.unmark(name) : this.control.mark(name);
    return other === name ? found : find(other);
  }

  private getter(object: Value, get: FunctionValue): Value {
    const members = object.value as Map<string, Value>;
    return new FunctionClass(([key, ...rest], scope) => {
      if (key === undefined || !isString(key) || members.has(key.value))
        return get.value([key as Value, ...rest], scope);
      const name = isMarked(key.value) ? this.control.unmark(key.value) : this.control.mark(key.value);
      return get.value([new StringClass(name), ...rest], scope);
    });
  }

  /** Returns a method that looks at the characters of a text; null for all others, which work on marked text as is. */
  private stringMethod(text: StringValue, name: string): FunctionValue | null {
    const method = text.builtins.get(name);
    if (method === undefined || !isFunction(method)) return null;
    const plainText = this.plain(text) as StringValue;
    const run = (args: Value[], scope: unknown): Value =>
      plainMethod().value(
        args.map((value) => this.plain(value)),
        scope,
      );
    const plainMethod = (): FunctionValue => plainText.builtins.get(name) as FunctionValue;
    if (name === 'startswith' || name === 'endswith') return new FunctionClass(run);
    if (name === 'replace') return new FunctionClass((args) => this.replaced(text, args));
    if (name === 'split') {
      return new FunctionClass((args, scope) => {
        const separator = args[0];
        if (separator === undefined || !isString(separator)) return method.value(args, scope);
        return slicesOf(text.value, run(args, scope), separator.value.length);
      });
    }
    if (!changesOfCase.has(name) || plainText === text) return null;
    return new FunctionClass(
      (args, scope) => new StringClass(this.control.markLike(String(run(args, scope).value), text.value)),
    );
  }

  private replaced(text: StringValue, args: Value[]): Value {
    const [from, to, last] = args;
    if (from === undefined || to === undefined || !isString(from) || !isString(to)) {
      throw new Error('replace() arguments must be strings');
    }
    const count = last?.value instanceof Map ? (last.value.get('count') as Value | undefined)?.value : last?.value;
    const plain = this.control.unmark(text.value);
    const searched = this.control.unmark(from.value);
    let left = typeof count === 'number' && count >= 0 ? count : Infinity;
    if (searched === '')
      return new StringClass(this.control.mark(plain.replaceAll('', () => (left-- > 0 ? to.value : ''))));
    let result = '';
    let end = 0;
    for (let at = plain.indexOf(searched); at >= 0 && left > 0; at = plain.indexOf(searched, end)) {
      result += text.value.slice(end, at) + to.value;
      end = at + searched.length;
      left--;
    }
    return new StringClass(result + text.value.slice(end));
  }

  /** The text without marks, to be compared; of a list or mapping that is searched, its members. */
  private plain(value: Value, isSearched = false): Value {
    if (isString(value)) return isMarked(value.value) ? new StringClass(this.control.unmark(value.value)) : value;
    if (!isSearched) return value;
    if (Array.isArray(value.value)) {
      const items = value.value as Value[];
      const plain = items.map((item) => (isString(item) ? this.plain(item) : item));
      return plain.every((item, index) => item === items[index]) ? value : new ListClass(plain);
    }
    if (value.value instanceof Map && value.type === 'ObjectValue') {
      const members = value.value as Map<string, Value>;
      if (![...members.keys()].some(isMarked)) return value;
      const MapClass = classOf(value) as Class<Value, Map<string, Value>>;
      return new MapClass(new Map([...members].map(([name, member]) => [this.control.unmark(name), member])));
    }
    return value;
  }
}

/** Cuts the parts of a split text out of the marked text. */
function slicesOf(text: string, parts: Value, separatorLength: number): Value {
  let at = 0;
  const slices = (parts.value as StringValue[]).map(({ value }) => {
    const slice = text.slice(at, at + value.length);
    at += value.length + separatorLength;
    return new StringClass(slice);
  });
  return new ListClass(slices);
}

function isString(value: Value): value is StringValue {
  return value.type === 'StringValue';
}

function isFunction(value: Value): value is FunctionValue {
  return value.type === 'FunctionValue';
}

function classOf(value: object): unknown {
  return value.constructor;
}
