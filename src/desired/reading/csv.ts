/** The records of a CSV file (RFC 4180) by the names in its first row, each with the line it starts on. */
export function csvRecords(text: string): { line: number; value: Record<string, string> }[] {
  const [header, ...rows] = csvRows(text.replace(/^\ufeff/, ''));
  if (!header) return [];
  const names = header.cells.map((name) => name.trim());
  return rows
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map(({ line, cells }) => ({
      line,
      value: Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])),
    }));
}

function csvRows(text: string): { line: number; cells: string[] }[] {
  const rows: { line: number; cells: string[] }[] = [];
  let line = 1;
  let row = { line, cells: [] as string[] };
  let cell = '';
  let isQuoted = false;
  const endCell = () => {
    row.cells.push(cell);
    cell = '';
  };
  const endRow = () => {
    endCell();
    rows.push(row);
    row = { line, cells: [] };
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '\n') line++;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') cell += text[++at];
      else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === ',') endCell();
    else if (character === '\n') endRow();
    else if (character !== '\r') cell += character;
  }
  if (cell !== '' || row.cells.length > 0) endRow();
  return rows;
}
