/** Chat templates that run, or grow, without an end. */
export const hostileTemplates: readonly { name: string; source: string }[] = [
  { name: 'a range', source: '{% for i in range(100000000) %}x{% endfor %}' },
  { name: 'nested ranges', source: '{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}' },
  {
    name: 'a macro that calls itself twice',
    source: '{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}',
  },
  { name: 'a macro without an end', source: '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}' },
  {
    name: 'doublings of a text',
    source: "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
  },
  {
    name: 'doublings of a list',
    source: '{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}',
  },
  {
    name: 'a list within itself many times',
    source:
      '{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}',
  },
  {
    name: 'replacements that grow',
    source:
      "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x | replace('a', 'aaaaaaaaaaaaaaaa') %}{% endfor %}",
  },
  { name: 'a wide indent', source: "{{ 'a\\nb\\nc' | indent(100000000) }}" },
  { name: 'an indent of JSON', source: '{{ [[1, [2, [3]]]] | tojson(indent=50000000) }}' },
  {
    name: 'a join',
    source: "{% set s = 'x' | replace('x', '" + 'y'.repeat(2_000) + "') %}{{ range(900000) | join(s) }}",
  },
  {
    name: 'a loop over the conversation',
    source: '{% for a in messages %}{% for c in range(99999999) %}{% endfor %}{% endfor %}',
  },
  { name: 'a sort', source: '{% for i in range(5000) %}{% set x = range(100000) | reverse | sort %}{% endfor %}' },
  { name: 'blanks', source: `{{ 'a' }}${' '.repeat(300_000)}x` },
  { name: 'brackets', source: `{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}` },
];
