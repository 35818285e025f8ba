# . ./home.sh: what uwf keeps is in ./home, and its sandboxes take what the sandbox around them leaves.
export UWF_HOME=$PWD/home/uwf OCAS_HOME=$PWD/home/ocas UWF_BUILTIN_SANDBOX=best-effort
