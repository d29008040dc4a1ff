/** How clients see the tools of a set. */
export const SHOWN_AS = {
  '': 'as the workspace says',
  all: 'every tool by itself',
  search: 'three tools that find, describe and call',
  code: 'one tool that runs programs',
} as const;
