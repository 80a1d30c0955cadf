% One iteration over all tasks in the MATLAB style: a loop over a cell array.
% Arguments: PROBLEM THREADS (see bench/peers/README.md).
1;

function [grad, B] = iterate (X, y, U)
  grad = zeros (size (U));
  B = zeros (columns (U), numel (X));
  for t = 1:numel (X)
    A = X{t} * U;
    b = A \ y{t};
    grad += X{t}' * (A * b - y{t}) * b';
    B(:,t) = b;
  end
end

arguments = argv ();
f = fopen (arguments{1}, "rb", "ieee-le");
if (f < 0 || ! strcmp (fread (f, 8, "char=>char")', "DIFALTB1"))
  error ("not a problem file");
end
shape = fread (f, 4, "int64=>double");
T = shape(1); n = shape(2); d = shape(3); r = shape(4);
X = y = cell (1, T);
for t = 1:T
  X{t} = fread (f, [d, n], "double")';
end
for t = 1:T
  y{t} = fread (f, n, "double");
end
U = fread (f, [r, d], "double")';
fclose (f);

printf ("ready Octave %s\n", version ());
fflush (stdout);
while (true)
  line = input ("", "s"); % fgetl would wait for the line after it
  [verb, arg] = strtok (line, " ");
  arg = arg(2:end);
  if (strcmp (verb, "check"))
    [grad, B] = iterate (X, y, U);
    f = fopen (arg, "wb", "ieee-le");
    fwrite (f, grad', "double");
    fwrite (f, B, "double");
    fclose (f);
    printf ("ok\n");
  else
    K = str2double (arg);
    start = tic ();
    for k = 1:K
      iterate (X, y, U);
    end
    printf ("%.9g\n", toc (start) * 1e3 / K);
  end
  fflush (stdout);
end
