"""Runs cells one after the other in one namespace, as a notebook does."""

import ast
import builtins
import importlib.util
import io
import linecache
import os
import random
import stat
import sys
import traceback

HOME = '/mnt/data'
PNG = b'\x89PNG\r\n\x1a\n'


class Guest:
    def begin(self, seed, limits, evaluate):
        self.limits = limits.to_py() if hasattr(limits, 'to_py') else limits
        # Runs the code of a cell and answers the value of its last line; how is the affair of the Python it is.
        self.evaluate = evaluate
        self.namespace = {'__name__': '__main__', '__builtins__': builtins}
        self.number = 0
        self.images = []
        builtins.display = self.display
        sys.path.insert(0, HOME)
        os.chdir(HOME)
        # Cells may be run again elsewhere to reach the same state.
        random.seed(seed)

    def offer(self, functions):
        """Lets code use these by their names."""
        self.namespace.update(functions)

    async def run(self, code):
        self.number += 1
        self.is_failed = False
        self.images = []
        self.notes = []
        self.left = self.limits['fileBytes']
        before = self.marks()
        name = f'<cell {self.number}>'
        # Where tracebacks find the lines of a cell.
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            self.watch_plots(code)
            value = await self.evaluate(code, self.namespace, filename=name)
            if value is not None:
                self.namespace['_'] = value
                self.display(value)
            self.take_figures()
        except SystemExit as end:
            if end.code not in (None, 0):
                self.is_failed = True
                print(f'SystemExit: {end.code}', file=sys.stderr)
        except BaseException as error:
            self.explain(error)
        made = self.made_since(before)
        for note in self.notes:
            print(f'[sandbox] {note}')
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        return [self.images, made, self.is_failed]

    def explain(self, error):
        """The traceback of an error, from the first line of a cell on."""
        self.is_failed = True
        first = error.__traceback__
        while first is not None and not first.tb_frame.f_code.co_filename.startswith('<cell '):
            first = first.tb_next
        told = traceback.TracebackException(type(error), error, first)
        told.stack = traceback.StackSummary.from_list([line for line in told.stack if line.filename != '<tools>'])
        print(''.join(told.format()), end='', file=sys.stderr)

    def display(self, *values):
        for value in values:
            picture = self.picture(value)
            if picture is None:
                print(value if isinstance(value, str) and len(values) > 1 else repr(value))
            else:
                self.keep_image(picture)

    def picture(self, value):
        """The PNG that a value is shown as: a plot, an image, or the path of one."""
        if isinstance(value, os.PathLike):
            try:
                with open(value, 'rb') as file:
                    return file.read() if file.read(len(PNG)) == PNG and file.seek(0) == 0 else None
            except OSError:
                return None
        if isinstance(value, type):
            return None
        make = getattr(value, '_repr_png_', None)
        made = make() if callable(make) else None
        return bytes(made) if isinstance(made, (bytes, bytearray)) else None

    def keep_image(self, picture):
        if len(self.images) >= self.limits['images'] or len(picture) > self.left:
            self.notes.append('an image was left out: it is too large, or one too many')
        else:
            self.left -= len(picture)
            self.images.append(picture)

    def watch_plots(self, code):
        """Lets show() of matplotlib show what is drawn, here where there is no screen."""
        if 'matplotlib' in code and importlib.util.find_spec('matplotlib') is not None:
            from matplotlib import pyplot

            pyplot.show = lambda *_, **__: self.take_figures()

    def take_figures(self):
        pyplot = sys.modules.get('matplotlib.pyplot')
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.figure(number).savefig(picture, format='png', bbox_inches='tight')
            self.keep_image(picture.getvalue())
        pyplot.close('all')

    def marks(self):
        """What tells whether a file was written, of every file below the working folder."""
        found = {}
        for folder, _, names in os.walk(HOME):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    about = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISREG(about.st_mode):
                    found[path] = (about.st_mtime_ns, about.st_size, about.st_ino)
                if len(found) > self.limits['walked']:
                    return found
        return found

    def made_since(self, before):
        """The files that were written, as far as they are within the limits."""
        made = []
        changed = sorted(path for path, mark in self.marks().items() if before.get(path) != mark)
        for path in changed:
            shown = os.path.relpath(path, HOME)
            if '__pycache__' in shown.split(os.sep):
                continue
            if len(made) >= self.limits['files']:
                count = len(changed) - len(made)
                self.notes.append(f'{count} files were not handed out: at most {self.limits["files"]} are, of one cell')
                break
            try:
                with open(path, 'rb') as file:
                    content = file.read(self.left + 1)
            except OSError:
                continue
            if len(content) > self.left:
                most = self.limits['fileBytes']
                self.notes.append(f'{shown} was not handed out: at most {most} bytes are, of one cell')
                continue
            self.left -= len(content)
            made.append([shown, content])
        return made


Guest()
